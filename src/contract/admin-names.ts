/** Names that the admin API takes and gives. */

/** What is recorded. */
export const auditActions = [
  'user.created',
  'user.changed',
  'user.suspended',
  'user.resumed',
  'user.deleted',
  'organization.created',
  'organization.deleted',
  'key.created',
  'key.changed',
  'key.shown',
  'key.regenerated',
  'key.deleted',
  'host.added',
  'host.removed',
  'secret.rotated',
  'authentication.refused',
  'session.ended',
] as const
export type AuditAction = (typeof auditActions)[number]

/** Whose requests are counted together, each against a rate of its own. */
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

export const orgRoles = ['owner', 'admin', 'member'] as const
export type OrgRole = (typeof orgRoles)[number]
