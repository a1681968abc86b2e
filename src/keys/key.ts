import type { AccountsContext } from '../accounts/accounts-context.ts'
import type { Account, KeyType } from '../auth/account.ts'
import type { HeldGrants, Scope } from './grants.ts'

/** What every act on keys needs. */
export type KeysContext = Pick<AccountsContext, 'namespace' | 'databases' | 'secrets' | 'log'> &
  Readonly<{
    /** Who is acting, for the audit record: the user whose key asked; the operator if nobody is named. */
    actor?: string
  }>

/** A key as it is recorded. */
export type KeyRecord = Readonly<{
  id: number
  name: string
  type: KeyType
  role: string
  token: string
  scope: Scope
  createdAt: Date
  updatedAt: Date
}>

/** A key with what its role may do at this moment. */
export type Key = KeyRecord & HeldGrants

export const keyRole = (account: Account, keyId: number) => `${account.masterRole}_k${keyId}`
