import { maxKeyDescriptionLength } from './limits.ts'

/** In the order in which a list has them. */
export const keyTypes = ['master', 'default', 'regular'] as const
export type KeyType = (typeof keyTypes)[number]

/** The two keys that every account has, by name; no other key may have these names. */
export const masterKeyName = 'Master'
export const defaultKeyName = 'Default public'
/** The token of the default key. It is not a secret. */
export const defaultToken = 'default_public'

/** No control characters, lone surrogates, line or paragraph separators: the rule for names of keys, without its length. */
export const isPrintable = (text: string) => !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)

export const isKeyDescription = (value: unknown): value is string =>
  typeof value === 'string' &&
  [...value].length <= maxKeyDescriptionLength &&
  !/[^\P{Cc}\n\t]|\p{Cs}/u.test(value)

/** What a list of keys can be ordered by. */
export const keyOrders = ['name', 'type', 'token', 'created_at', 'updated_at', 'grants'] as const
export type KeyOrder = (typeof keyOrders)[number]

/** Which servers answer a read: the primary, or a replica if it may. */
export const readFroms = ['primary', 'replica'] as const
export type ReadFrom = (typeof readFroms)[number]
