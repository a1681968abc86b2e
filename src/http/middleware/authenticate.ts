import type { FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import { requireMasterForJobs, requireMasterForKeys, requireSqlAccess } from '../../auth/authorize.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Directory } from '../../auth/directory.ts'
import { type Identification, identify, recall } from '../../auth/identify.ts'
import { defaultToken } from '../../contract/key-names.ts'
import { errors } from '../../errors.ts'
import type { Services } from '../services.ts'
import { clientAddress } from './credential/client-address.ts'
import { credentialIn } from './credential/request-credential.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What identifyCaller found, once it was asked. */
    identification: Identification | null
  }
}

/** From the token of a request to the role that its SQL runs as: any key that opens the SQL API, or the public one. */
export function sqlCaller(services: CallerServices, request: FastifyRequest): Principal | Promise<Principal> {
  const known = recallCaller(services, request)
  const access = (identification: Identification) => requireSqlAccess(services.directory, identification)
  return known ? access(known) : identifyCaller(services, request).then(access)
}

/** The holder of a master key, for the job endpoints. */
export async function jobsCaller(services: CallerServices, request: FastifyRequest): Promise<Principal> {
  return requireMasterForJobs(await identifyCaller(services, request))
}

/** The holder of a master key, for the key endpoints. */
export async function keysCaller(services: CallerServices, request: FastifyRequest): Promise<Principal> {
  return requireMasterForKeys(await identifyCaller(services, request))
}

type CallerServices = Pick<Services, 'directory' | 'metrics' | 'refusals' | 'wrongTokens'>

/** Who is asking for the account named in the path. Answered once per request, however often it is asked. */
export async function identifyCaller(
  services: CallerServices,
  request: FastifyRequest,
): Promise<Identification> {
  request.identification ??= recallCaller(services, request) ?? (await identifyOnce(services, request))
  return request.identification
}

/** The same without a wait, where memory alone can tell. */
export function recallCaller(
  { directory }: CallerServices,
  request: FastifyRequest,
): Identification | undefined {
  request.identification ??= recall(directory, nameIn(request), credentialIn(request)) ?? null
  return request.identification ?? undefined
}

async function identifyOnce(services: CallerServices, request: FastifyRequest): Promise<Identification> {
  const name = nameIn(request)
  const credential = credentialIn(request)
  const find = () => identify(services.directory, name, credential)
  const identification = await services.wrongTokens.attempt(
    clientAddress(request),
    credential,
    find,
    isRefused,
  )
  if (credential.kind !== 'none' && isRefused(identification)) {
    noteRefusal(services, request, name, identification.outcome)
  }
  return identification
}

const isRefused = ({ outcome }: Identification) =>
  outcome === 'wrong-credential' || outcome === 'wrong-username'

const nameIn = ({ params }: FastifyRequest) => (params as { name: string }).name

/** Whose token it is, where the path names no account. */
export async function accountOfHolder(services: CallerServices, request: FastifyRequest): Promise<Account> {
  const credential = credentialIn(request)
  // Everybody has the token of the public key: it says nothing about who is asking.
  if (credential.kind !== 'token' || credential.token === defaultToken) throw errors.unauthorized()
  const find = () => holderOf(services.directory, credential)
  const { account, named } = await services.wrongTokens.attempt(
    clientAddress(request),
    credential,
    find,
    (found) => !found.account,
  )
  if (account) return account
  noteRefusal(services, request, named, 'wrong-credential')
  throw errors.unauthorized()
}

/** `named`: for the record. A user name that no account has may be anything, a token too. */
async function holderOf(
  directory: Directory,
  credential: TokenCredential,
): Promise<{ account?: Account | undefined; named: string }> {
  const { token, username } = credential
  if (username === undefined)
    return { account: (await directory.findHolder(token))?.account, named: withoutName }
  if (!(await directory.findAccount(username))) return { named: withoutName }
  const identification = await identify(directory, username, credential)
  return {
    account: identification.outcome === 'known' ? identification.principal.account : undefined,
    named: username,
  }
}

type TokenCredential = Extract<Credential, { kind: 'token' }>
const withoutName = '/me'

export function noteRefusal(
  { metrics, refusals }: Pick<Services, 'metrics' | 'refusals'>,
  request: FastifyRequest,
  account: string,
  reason: string,
): void {
  metrics.authenticationRefused()
  refusals.note({ account, address: clientAddress(request), reason })
}
