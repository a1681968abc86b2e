import type { FastifyRequest } from 'fastify'
import type { Holder, Principal } from '../../auth/account.ts'
import {
  requireMapsAccess,
  requireMasterForJobs,
  requireMasterForKeys,
  requireSqlAccess,
} from '../../auth/authorize.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Directory } from '../../auth/directory.ts'
import { type Identification, identify, recall } from '../../auth/identify.ts'
import { refuseSuspended } from '../../auth/standing.ts'
import { defaultToken } from '../../contract/key-names.ts'
import { errors } from '../../errors.ts'
import type { Services } from '../services.ts'
import { clientAddress } from './credential/client-address.ts'
import { credentialIn } from './credential/request-credential.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The result of identifyCaller, once called. */
    identification: Identification | null
  }
}

/** The caller of an SQL endpoint: any key with the SQL API, or the public one. Its role runs the SQL. */
export function sqlCaller(services: CallerServices, request: FastifyRequest): Principal | Promise<Principal> {
  const known = recallCaller(services, request)
  const access = (identification: Identification) => requireSqlAccess(services.directory, identification)
  return known ? access(known) : identifyCaller(services, request).then(access)
}

/** The same for a session, whose credential comes in a message. */
export async function sessionCaller(
  services: CallerServices,
  request: FastifyRequest,
  credential: Credential,
): Promise<Principal> {
  const known = recall(services.directory, nameIn(request), credential)
  request.identification = known ?? (await identifyOnce(services, request, credential))
  noteUse(services, request, request.identification)
  return requireSqlAccess(services.directory, request.identification)
}

/** The caller of a map endpoint: any key with the maps API, or the public one. */
export function mapsCaller(
  services: CallerServices,
  request: FastifyRequest,
): Principal | Promise<Principal> {
  const known = recallCaller(services, request)
  const access = (identification: Identification) => requireMapsAccess(services.directory, identification)
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

type CallerServices = Pick<Services, 'directory' | 'metrics' | 'refusals' | 'keyUses' | 'wrongTokens'>

/** The caller for the account in the path. Identified once per request. */
export async function identifyCaller(
  services: CallerServices,
  request: FastifyRequest,
): Promise<Identification> {
  request.identification ??=
    recallCaller(services, request) ?? (await identifyOnce(services, request, credentialIn(request)))
  noteUse(services, request, request.identification)
  return request.identification
}

/** The same without waiting, if cached. */
export function recallCaller(services: CallerServices, request: FastifyRequest): Identification | undefined {
  request.identification ??= recall(services.directory, nameIn(request), credentialIn(request)) ?? null
  if (request.identification) noteUse(services, request, request.identification)
  return request.identification ?? undefined
}

async function identifyOnce(
  services: CallerServices,
  request: FastifyRequest,
  credential: Credential,
): Promise<Identification> {
  const name = nameIn(request)
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

function noteUse(services: CallerServices, request: FastifyRequest, identification: Identification): void {
  if (identification.outcome === 'known') noteKeyUse(services, request, identification.principal)
}

/** For the audit record. The token of the public key is no secret: its use tells nothing. */
function noteKeyUse({ keyUses }: CallerServices, request: FastifyRequest, { account, key }: Holder): void {
  if (key.type === 'default') return
  keyUses.note(key.id, () => ({
    username: account.username,
    keyName: key.name,
    address: clientAddress(request),
    apis: key.apis,
  }))
}

const isRefused = ({ outcome }: Identification) =>
  outcome === 'wrong-credential' || outcome === 'wrong-username'

const nameIn = ({ params }: FastifyRequest) => (params as { name: string }).name

/** The holder of the token, for paths without an account. */
export async function tokenHolder(services: CallerServices, request: FastifyRequest): Promise<Holder> {
  const credential = credentialIn(request)
  // The token of the public key identifies no caller: every account has it.
  if (credential.kind !== 'token' || credential.token === defaultToken) throw errors.unauthorized()
  const find = () => holderOf(services.directory, credential)
  const { holder, named } = await services.wrongTokens.attempt(
    clientAddress(request),
    credential,
    find,
    (found) => !found.holder,
  )
  if (holder) {
    noteKeyUse(services, request, holder)
    return holder
  }
  noteRefusal(services, request, named, 'wrong-credential')
  throw errors.unauthorized()
}

/** `named`: for the audit record. An unknown user name is not recorded: it may be anything, even a token. */
async function holderOf(
  directory: Directory,
  credential: TokenCredential,
): Promise<{ holder?: Holder | undefined; named: string }> {
  const { token, username } = credential
  if (username === undefined) {
    const holder = await directory.findHolder(token)
    if (holder) refuseSuspended(holder.account, holder.key)
    return { holder, named: withoutName }
  }
  if (!(await directory.findAccount(username))) return { named: withoutName }
  const identification = await identify(directory, username, credential)
  return {
    holder: identification.outcome === 'known' ? identification.principal : undefined,
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
