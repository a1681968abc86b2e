import { defaultToken } from '../contract/key-names.ts'
import { errors } from '../errors.ts'
import type { Account, Principal } from './account.ts'
import type { Credential } from './credential.ts'
import type { Directory } from './directory.ts'
import { refuseSuspended } from './standing.ts'

/** What a credential proves about the account in the path. */
export type Identification =
  | Readonly<{ outcome: 'anonymous'; account: Account; epoch: number }>
  | Readonly<{ outcome: 'wrong-credential' }>
  | Readonly<{ outcome: 'wrong-username' }>
  | Readonly<{ outcome: 'known'; principal: Principal }>

/** The answer of `identify`, if it is cached, as for most requests. */
export function recall(
  directory: Directory,
  name: string,
  credential: Credential,
): Identification | undefined {
  if (credential.kind !== 'token') return undefined
  if (credential.username !== undefined && credential.username !== name) return undefined
  const principal = directory.recall(name, credential.token)
  return principal && { outcome: 'known', principal }
}

/** Throws only if no account has this name, or if the account of the caller is suspended. */
export async function identify(
  directory: Directory,
  name: string,
  credential: Credential,
): Promise<Identification> {
  const { epoch } = directory
  const named = await directory.findAccount(name)
  if (!named) throw errors.userUnknown(name)
  return named.kind === 'user'
    ? identifyUser(directory, epoch, named.account, credential)
    : identifyMember(directory, epoch, named.id, credential)
}

async function identifyUser(
  directory: Directory,
  epoch: number,
  account: Account,
  credential: Credential,
): Promise<Identification> {
  if (credential.kind === 'none') {
    refuseSuspended(account)
    return { outcome: 'anonymous', account, epoch }
  }
  if (credential.kind === 'malformed') return wrongCredential
  const key = await directory.findKey(account, credential.token)
  if (!key) return wrongCredential
  if (credential.username !== undefined && credential.username !== account.username)
    return { outcome: 'wrong-username' }
  refuseSuspended(account, key)
  return {
    outcome: 'known',
    principal: directory.rememberedPrincipal({ account, key }, epoch, credential.token),
  }
}

/** On an organization's path the credential determines the acting member; without one the request is refused. */
async function identifyMember(
  directory: Directory,
  epoch: number,
  organizationId: number,
  credential: Credential,
): Promise<Identification> {
  if (credential.kind !== 'token' || credential.token === defaultToken) return wrongCredential
  if (credential.username === undefined) {
    const principal = await directory.findHolder(credential.token, organizationId)
    if (principal) refuseSuspended(principal.account, principal.key)
    return principal ? { outcome: 'known', principal } : wrongCredential
  }
  const member = await directory.findAccount(credential.username)
  if (member?.kind !== 'user' || member.account.organization?.id !== organizationId) return wrongCredential
  return identifyUser(directory, epoch, member.account, credential)
}

const wrongCredential: Identification = { outcome: 'wrong-credential' }
