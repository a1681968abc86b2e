/**
 * Names of tenants' roles and databases. They consist of ids, so that no name chosen by a tenant reaches a catalog, and
 * none is too long. The patterns are PostgreSQL regular expressions.
 */

/** A database of tenants, on its host. */
export type TenantDatabase = Readonly<{ hostId: number; database: string }>

/** Also the name of the database of a user without an organization. */
export const masterRoleName = (namespace: string, userId: number) => `${namespace}_u${userId}`

/** For callers without a key. */
export const publicRoleName = (masterRole: string) => `${masterRole}_public`

export const keyRoleName = (masterRole: string, keyId: number) => `${masterRole}_k${keyId}`

/** The master role of the account that owns this key role. */
export const masterRoleOfKey = (keyRole: string) => keyRole.replace(/_k\d+$/, '')

/** The master role for any role of a user. */
export const masterRoleOf = (role: string) => role.replace(/_(public|k\d+)$/, '')

export const organizationDatabaseName = (namespace: string, organizationId: number) =>
  `${namespace}_o${organizationId}`

/** The template of new databases. */
export const templateName = (namespace: string) => `${namespace}_template`

/**
 * The control database of an installation that is being restored from a backup. It gets its name as the last step. The
 * hyphen is on purpose: no other installation can have this name, as none may be in a namespace.
 */
export const restoreDraftName = (namespace: string) => `${namespace}-restore`

export const tenantRolePattern = (namespace: string) => `^${namespace}_u[0-9]+(_public|_k[0-9]+)?$`

export const keyRolePattern = (namespace: string) => `^${namespace}_u[0-9]+_k[0-9]+$`

/** All roles of a user except the master role. */
export const otherRolesPattern = (masterRole: string) => `^${masterRole}_(public|k[0-9]+)$`

export const tenantDatabasePattern = (namespace: string) => `^${namespace}_[uo][0-9]+$`
