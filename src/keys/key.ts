import type { Principal } from '../auth/account.ts'
import type { SortOrder } from '../contract/formats.ts'
import type { KeyOrder, KeyType, ReadFrom } from '../contract/key-names.ts'
import type { Installation } from '../hosts/installation.ts'
import type { EffectiveGrants, Scope } from './grants.ts'

/** What all operations on keys need. */
export type KeysContext = Pick<Installation, 'namespace' | 'databases' | 'secrets' | 'log'> &
  Readonly<{
    /** The caller; absent for the operator, and for one who accepts an invitation. */
    caller?: Principal
    /** The actor for the audit record if there is no caller; absent for the operator. */
    actor?: string
    /** The address of the client for the audit record; absent on the command line. */
    address?: string
  }>

/** A stored key. */
export type KeyRecord = Readonly<{
  id: number
  name: string
  type: KeyType
  role: string
  token: string
  scope: Scope
  description: string
  /** Times are in PostgreSQL's JSON format. */
  createdAt: string
  updatedAt: string
  /** Null: never. */
  expiresAt: string | null
  /** Where its reads go, unless a request says otherwise. */
  readFrom: ReadFrom
  /** Known to within some minutes. */
  lastUsedAt: string | null
  /** Until when an invitation gives its receiver this key. Null: there is none. */
  invitedUntil: string | null
}>

/** A key with the current rights of its role. */
export type Key = KeyRecord & EffectiveGrants

export type WantedKeys = Readonly<{
  page: number
  perPage: number
  order: KeyOrder
  direction: SortOrder
  /** Types in the order of the listing. */
  types: readonly KeyType[]
}>
