/** In the order in which a list has them. */
export const keyTypes = ['master', 'default', 'regular'] as const
export type KeyType = (typeof keyTypes)[number]

/** The two keys that every account has, by name; no other key may have these names. */
export const masterKeyName = 'Master'
export const defaultKeyName = 'Default public'
/** The token of the default key. It is not a secret. */
export const defaultToken = 'default_public'

/** What a list of keys can be ordered by. */
export const keyOrders = ['name', 'type', 'token', 'created_at', 'updated_at', 'grants'] as const
export type KeyOrder = (typeof keyOrders)[number]

/** Which servers answer a read: the primary, or a replica if it may. */
export const readFroms = ['primary', 'replica'] as const
export type ReadFrom = (typeof readFroms)[number]
