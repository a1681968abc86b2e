/**
 * The names of roles and databases of tenants. They are made of ids: no name that a tenant chose reaches a catalog, and
 * none is too long. The patterns are PostgreSQL's regular expressions.
 */

/** Also the name of the database of a user without an organization. */
export const masterRoleName = (namespace: string, userId: number) => `${namespace}_u${userId}`

/** For callers without a key. */
export const publicRoleName = (masterRole: string) => `${masterRole}_public`

export const keyRoleName = (masterRole: string, keyId: number) => `${masterRole}_k${keyId}`

/** The other way round: whose key has that role. */
export const masterRoleOfKey = (keyRole: string) => keyRole.replace(/_k\d+$/, '')

/** Of any role of a user. */
export const masterRoleOf = (role: string) => role.replace(/_(public|k\d+)$/, '')

export const organizationDatabaseName = (namespace: string, organizationId: number) =>
  `${namespace}_o${organizationId}`

/** The database that new ones are copied from. */
export const templateName = (namespace: string) => `${namespace}_template`

export const tenantRolePattern = (namespace: string) => `^${namespace}_u[0-9]+(_public|_k[0-9]+)?$`

export const keyRolePattern = (namespace: string) => `^${namespace}_u[0-9]+_k[0-9]+$`

/** Every role of one user but the master role. */
export const otherRolesPattern = (masterRole: string) => `^${masterRole}_(public|k[0-9]+)$`

export const tenantDatabasePattern = (namespace: string) => `^${namespace}_[uo][0-9]+$`
