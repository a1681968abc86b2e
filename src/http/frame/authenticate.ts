import type { FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import { requireMasterForJobs, requireMasterForKeys, requireSqlAccess } from '../../auth/authorize.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Directory } from '../../auth/directory.ts'
import { type Identification, identify, recall } from '../../auth/identify.ts'
import { defaultToken } from '../../auth/token.ts'
import { errors } from '../../errors.ts'
import type { Services } from '../services.ts'
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

type CallerServices = Pick<Services, 'directory' | 'metrics' | 'refusals'>

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
  const identification = await identify(services.directory, name, credential)
  const { outcome } = identification
  if (credential.kind !== 'none' && (outcome === 'wrong-credential' || outcome === 'wrong-username')) {
    noteRefusal(services, request, name, outcome)
  }
  return identification
}

const nameIn = ({ params }: FastifyRequest) => (params as { name: string }).name

/** Whose token it is, where the path names no account. */
export async function accountOfHolder(services: CallerServices, request: FastifyRequest): Promise<Account> {
  const credential = credentialIn(request)
  // Everybody has the token of the public key: it says nothing about who is asking.
  if (credential.kind !== 'token' || credential.token === defaultToken) throw errors.unauthorized()
  const account = await holderOf(services.directory, credential)
  if (account) return account
  noteRefusal(services, request, credential.username ?? '/me', 'wrong-credential')
  throw errors.unauthorized()
}

async function holderOf(directory: Directory, credential: TokenCredential): Promise<Account | undefined> {
  const { token, username } = credential
  if (username === undefined) return (await directory.findHolder(token))?.account
  const named = await directory.findAccount(username)
  const identification = named && (await identify(directory, username, credential))
  return identification?.outcome === 'known' ? identification.principal.account : undefined
}

type TokenCredential = Extract<Credential, { kind: 'token' }>

export function noteRefusal(
  { metrics, refusals }: Pick<Services, 'metrics' | 'refusals'>,
  request: FastifyRequest,
  account: string,
  reason: string,
): void {
  metrics.authenticationRefused()
  refusals.note({ account, address: request.ip, reason })
}
