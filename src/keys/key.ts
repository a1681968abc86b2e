import type { KeyType, Principal } from '../auth/account.ts'
import type { Installation } from '../hosts/installation.ts'
import type { EffectiveGrants, Scope } from './grants.ts'

/** What all operations on keys need. */
export type KeysContext = Pick<Installation, 'namespace' | 'databases' | 'secrets' | 'log'> &
  Readonly<{
    /** The caller; absent for the operator. */
    caller?: Principal
  }>

/** A stored key. */
export type KeyRecord = Readonly<{
  id: number
  name: string
  type: KeyType
  role: string
  token: string
  scope: Scope
  /** In PostgreSQL's JSON format. */
  createdAt: string
  updatedAt: string
}>

/** A key with the current rights of its role. */
export type Key = KeyRecord & EffectiveGrants

export const keyOrders = ['name', 'type', 'token', 'created_at', 'updated_at', 'grants'] as const

export type KeyListing = Readonly<{
  page: number
  perPage: number
  order: (typeof keyOrders)[number]
  direction: 'asc' | 'desc'
  /** Types in the order of the listing. */
  types: readonly KeyType[]
}>
