import type { Principal } from '../auth/account.ts'
import type { SortOrder } from '../contract/formats.ts'
import type { KeyOrder, KeyType } from '../contract/key-names.ts'
import type { Installation } from '../hosts/installation.ts'
import type { EffectiveGrants, Scope } from './grants.ts'

/** What every act on keys needs. */
export type KeysContext = Pick<Installation, 'namespace' | 'databases' | 'secrets' | 'log'> &
  Readonly<{
    /** The caller whose key asked for it. Without one it is the operator. */
    caller?: Principal
  }>

/** A key as it is recorded. */
export type KeyRecord = Readonly<{
  id: number
  name: string
  type: KeyType
  role: string
  token: string
  scope: Scope
  /** As PostgreSQL writes them in JSON. */
  createdAt: string
  updatedAt: string
}>

/** A key with what its role may do at this moment. */
export type Key = KeyRecord & EffectiveGrants

export type KeyListing = Readonly<{
  page: number
  perPage: number
  order: KeyOrder
  direction: SortOrder
  /** Keys of the first come first. */
  types: readonly KeyType[]
}>
