import { maxSchedules } from './limits.ts'

/** Names that the admin API takes and gives. */

/** What is recorded. */
export const auditActions = [
  'user.created',
  'user.changed',
  'user.suspended',
  'user.resumed',
  'user.moved',
  'user.deleted',
  'user.restored',
  'restore.requested',
  'restore.cancelled',
  'plan.created',
  'plan.changed',
  'plan.deleted',
  'organization.created',
  'organization.moved',
  'organization.deleted',
  'move.cancelled',
  'key.created',
  'key.changed',
  'key.used',
  'key.shown',
  'key.regenerated',
  'key.invited',
  'key.invitation-withdrawn',
  'key.invitation-accepted',
  'key.deleted',
  'history.read',
  'history.deleted',
  'table.dropped',
  'table.renamed',
  'table.published',
  'table.unnoted',
  'host.added',
  'host.changed',
  'host.removed',
  'replica.added',
  'replica.removed',
  'secret.rotated',
  'authentication.refused',
  'session.ended',
  'activity.read',
  'activity.stop',
  'activity.stopped',
] as const
export type AuditAction = (typeof auditActions)[number]

/** What may run for an account. */
export const activityKinds = ['query', 'copy', 'tile', 'session', 'export', 'job', 'import'] as const
export type ActivityKind = (typeof activityKinds)[number]

/** What it may wait for: one of Cartage's own queues, or as PostgreSQL tells. */
export const activityWaits = ['slot', 'connection', 'client', 'lock', 'server'] as const
export type ActivityWait = (typeof activityWaits)[number]

/** Groups of endpoints. The requests of a group count together against its own rate. */
export const endpointGroups = [
  'keys',
  'jobs',
  'jobs_read',
  'copyfrom',
  'copyto',
  'sql',
  'tables',
  'imports',
  'tile',
  'map',
  'named',
  'dataview',
] as const
export type EndpointGroup = (typeof endpointGroups)[number]

/** Limits that an account, or the plan of an account, has in place of the configured ones: whole numbers within these. */
const time = { least: 1, most: 2_000_000_000 } as const
const number = { least: 1, most: 1_000_000 } as const
export const accountLimits = {
  query_timeout_ms: time,
  job_timeout_ms: time,
  copy_timeout_ms: time,
  jobs_at_once: number,
  jobs_queued: number,
  connections: number,
  imports_at_once: number,
  tiles_at_once: number,
  schedules: { least: 0, most: maxSchedules },
} as const
export type AccountLimit = keyof typeof accountLimits
export const accountLimitNames = Object.keys(accountLimits) as readonly AccountLimit[]

/** The limits that the operator has set. */
export type SetLimits = Readonly<
  Partial<Record<AccountLimit, number>> & { rates?: Readonly<Partial<Record<EndpointGroup, string>>> }
>
/** How far a move is. Before `cleaning` the account is on its old host, from then on on the new one. */
export const movePhases = [
  'waiting',
  'stopping',
  'copying',
  'checking',
  'undoing',
  'cleaning',
  'done',
  'failed',
] as const
export type MovePhase = (typeof movePhases)[number]

/** How far the restore of a user from a backup is. From `opening` on its user is made. */
export const restorePhases = ['unpacking', 'copying', 'opening', 'undoing', 'done', 'failed'] as const
export type RestorePhase = (typeof restorePhases)[number]

export const orgRoles = ['owner', 'admin', 'member'] as const
export type OrgRole = (typeof orgRoles)[number]
