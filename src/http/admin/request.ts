import type { FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { WantedOrganization } from '../../accounts/create-organization.ts'
import type { WantedUser } from '../../accounts/create-user.ts'
import type { WantedUserChanges } from '../../accounts/update-user.ts'
import type { WantedActivity } from '../../activity/list-activity.ts'
import type { WantedAudit } from '../../audit/audit-store.ts'
import { auditActions } from '../../contract/admin-names.ts'
import type {
  HostChanges,
  LimitChanges,
  NewHost,
  NewOrganization,
  NewRestore,
  NewUser,
  UserChanges,
} from '../../contract/documents.ts'
import {
  defaultActivityRecords,
  defaultAuditRecords,
  defaultMoves,
  maxRecords,
} from '../../contract/limits.ts'
import { unknownMember } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { namesFile } from '../../postgres/check-address.ts'
import {
  choiceOf,
  type Parameters,
  textOf,
  wholeOf,
  withoutEmpty,
  zonedTime,
} from '../middleware/parameters.ts'

export type OneUser = { Params: { username: string } }
export type OneOrganization = { Params: { organization: string } }

export function readNewUser(request: FastifyRequest): WantedUser {
  const { username, quota_in_bytes, organization, org_admin, api_key } = validBody<NewUser>(request)
  return {
    username,
    quotaBytes: quota_in_bytes,
    organization,
    isOrgAdmin: org_admin,
    masterToken: api_key,
  }
}

export function readChanges(request: FastifyRequest): WantedUserChanges {
  const { quota_in_bytes, api_key_quota, org_admin, limits, plan } = validBody<UserChanges>(request)
  return { quotaBytes: quota_in_bytes, apiKeyQuota: api_key_quota, isOrgAdmin: org_admin, limits, plan }
}

export const readNewPlan = (request: FastifyRequest) =>
  validBody<Readonly<{ name: string; limits?: LimitChanges }>>(request)

export const readPlanChanges = (request: FastifyRequest) =>
  validBody<Readonly<{ limits: LimitChanges }>>(request).limits

export function readSuspension(request: FastifyRequest): string {
  return validBody<Readonly<{ reason: string }>>(request).reason
}

export function readNewMove(request: FastifyRequest): string {
  return validBody<Readonly<{ host: string }>>(request).host
}

export function readMoveLimit(query: Parameters): number {
  return wholeOf(onlyKnown(query, ['limit']), 'limit', 1, maxRecords) ?? defaultMoves
}

export const readNewHost = (request: FastifyRequest) => withoutFiles(validBody<NewHost>(request))

export function readHostChanges(request: FastifyRequest) {
  const { url, accepts_users: acceptsUsers } = withoutFiles(validBody<HostChanges>(request))
  if (url === undefined && acceptsUsers === undefined)
    throw errors.accountInvalid('Give accepts_users, url, or both')
  return { url, acceptsUsers }
}

export const readNewRestore = (request: FastifyRequest) => validBody<NewRestore>(request)

/** Never guessed: with it something is forgotten for good. */
export const readIsLost = (query: Parameters): boolean =>
  choiceOf(onlyKnown(query, ['lost']), 'lost', ['true', 'false']) === 'true'

export const readNewReplica = (request: FastifyRequest) =>
  withoutFiles(validBody<Readonly<{ name: string; url: string }>>(request))

/** A caller must not choose what every process reads from its disk: it may never end, or be missing on one machine. */
function withoutFiles<Body extends Readonly<{ url?: string | undefined }>>(body: Body): Body {
  if (body.url !== undefined && namesFile(body.url))
    throw errors.hostInvalid(
      'The address must not have sslrootcert, sslcert or sslkey: only cartage host add takes addresses with files',
    )
  return body
}

/** The body is optional: without one the hosts are chosen. */
export function readDrain(request: FastifyRequest): string | undefined {
  if (request.body === undefined || request.body === null) return undefined
  return validBody<Readonly<{ to?: string }>>(request).to
}

/** The body is optional: without one it is the master key alone. */
export function readRegeneration(request: FastifyRequest): Readonly<{ areAll: boolean }> {
  if (request.body === undefined || request.body === null) return { areAll: false }
  return { areAll: validBody<Readonly<{ all_keys?: boolean }>>(request).all_keys ?? false }
}

export function readNewOrganization(request: FastifyRequest): WantedOrganization {
  const { name, owner } = validBody<NewOrganization>(request)
  return {
    name,
    owner: { username: owner.username, quotaBytes: owner.quota_in_bytes, masterToken: owner.api_key },
  }
}

export function readAuditFilter(query: Parameters): WantedAudit {
  const asked = onlyKnown(query, ['account', 'user', 'action', 'since', 'limit', 'before'])
  const since = zonedTime(asked.since)
  if (asked.since !== undefined && since === undefined)
    throw errors.badRequest('Invalid since: it must be a time with a time zone, such as 2026-01-31T12:00:00Z')
  if (asked.account !== undefined && asked.user !== undefined)
    throw errors.badRequest('Give account or user: both mean the same')
  return {
    account: textOf(asked, 'account') ?? textOf(asked, 'user'),
    since,
    action: choiceOf(asked, 'action', auditActions),
    limit: wholeOf(asked, 'limit', 1, maxRecords) ?? defaultAuditRecords,
    beforeId: wholeOf(asked, 'before', 1, Number.MAX_SAFE_INTEGER),
  }
}

export function readActivityFilter(query: Parameters): WantedActivity {
  const asked = onlyKnown(query, ['limit', 'user', 'text'])
  return {
    limit: wholeOf(asked, 'limit', 1, maxRecords) ?? defaultActivityRecords,
    username: textOf(asked, 'user'),
    isFull: choiceOf(asked, 'text', ['cut', 'full']) === 'full',
  }
}

export function readNoParameters(query: Parameters): void {
  onlyKnown(query, [])
}

/** Otherwise a misspelt filter would return everything. */
function onlyKnown(query: Parameters, names: readonly string[]): Parameters {
  const unknown = unknownMember(query, names)
  if (unknown === undefined) return withoutEmpty(query)
  throw errors.badRequest(`Unknown parameter: ${unknown}. Known: ${names.join(', ') || 'none'}`)
}

/** A body that does not fit its route's schema is 422, and the text names the place. */
function validBody<Body>({ body, validationError }: FastifyRequest): Body {
  if (validationError) {
    throw errors.accountInvalid(unknownMemberIn(validationError.validation[0]) ?? validationError.message)
  }
  if (body === undefined || body === null) throw errors.accountInvalid('A JSON body is required')
  return body as Body
}

/** The validator says only that there is one. */
function unknownMemberIn(fault: FastifySchemaValidationError | undefined): string | undefined {
  if (fault?.keyword !== 'additionalProperties') return undefined
  return `body${fault.instancePath} has an unknown member: ${fault.params.additionalProperty}`
}
