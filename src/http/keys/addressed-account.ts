import type { FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import { type Parameters, textOf } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'

/** The account that is meant: the caller's own, or the member that an owner or admin names with `target_user`. */
export async function addressedAccount(
  { directory }: Pick<Services, 'directory'>,
  { query }: FastifyRequest,
  { account }: Principal,
): Promise<Account> {
  const target = textOf(query as Parameters, 'target_user')
  if (target === undefined) return account
  const { organization, orgRole } = account
  if (!organization || orgRole === 'member') throw errors.notYourResource()
  const named = /^[a-z0-9-]+$/.test(target) ? await directory.findAccount(target) : undefined
  if (named?.kind !== 'user' || named.account.organization?.id !== organization.id) {
    throw errors.memberNotFound(target, organization.name)
  }
  return named.account
}
