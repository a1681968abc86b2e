import type { OrgRole, SetLimits } from '../contract/admin-names.ts'
import type { Api } from '../contract/grants.ts'
import type { KeyType, ReadFrom } from '../contract/key-names.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { remembered } from '../remembered.ts'

/** A user, and where the data lives. */
export type Account = Readonly<{
  userId: number
  username: string
  organization: Readonly<{ id: number; name: string }> | null
  orgRole: OrgRole | null
  hostId: number
  database: string
  schema: string
  masterRole: string
  publicRole: string
  quotaBytes: number
  apiKeyQuota: number | null
  /** Its own limits. */
  limits: SetLimits
  plan: string | null
  /** Its own limits, and those of its plan: what it has in place of the configured ones. */
  setLimits: SetLimits
  createdAt: Date
  /** Null unless the operator has suspended the account. */
  suspension: Suspension | null
  /** The account moves to another host: nothing is served, nothing changes. */
  isMoving: boolean
}>

export type Suspension = Readonly<{
  since: Date
  /** The text that callers with a key of the account see. */
  reason: string
}>

/** The key of a request, as far as authorization needs it. */
export type CallerKey = Readonly<{
  id: number
  name: string
  type: KeyType
  role: string
  apis: readonly Api[]
  hasTableMetadata: boolean
  /** Where its reads go, unless the request says otherwise. */
  readFrom: ReadFrom
  /** Hash of the token in the request. */
  tokenHash: Buffer
  /** When it expires, by the monotonic clock of this process; infinite if never. Then the database is asked again. */
  validUntil: number
}>

/** An account, and the key whose token was sent. */
export type Holder = Readonly<{ account: Account; key: CallerKey }>

/** The caller: the acting account, and the key that proved it. */
export type Principal = Holder &
  Readonly<{
    /** The request came without the key, through something its owner has opened, such as the link of an export. */
    isGuest: boolean
    /** True if no account has changed since the lookup: no need to confirm. */
    isCurrent: () => boolean
    /** To be called after a wait: throws unless the key and the account are still valid, and the key still has `api`. */
    confirm: (api?: Api) => Promise<void>
  }>

/** The database session of a key: logged in as the key's own role. Returns the same object for the same holder. */
export const sessionTargetOf = remembered(({ account, key }: Holder): SessionTarget => {
  return {
    hostId: account.hostId,
    database: account.database,
    role: key.role,
    searchPath: searchPathOf(account),
    account: account.masterRole,
    limits: account.setLimits,
    isAnonymous: key.type === 'default',
  }
})

/** Jobs run as the user's master role, for every key. */
export function masterTargetOf(
  account: Pick<Account, 'hostId' | 'database' | 'masterRole' | 'schema' | 'setLimits'>,
): SessionTarget {
  return {
    hostId: account.hostId,
    database: account.database,
    role: account.masterRole,
    searchPath: searchPathOf(account),
    account: account.masterRole,
    limits: account.setLimits,
  }
}

/** Names resolve in the account's own schema first, then in the service's schemas, PostGIS last. */
function searchPathOf(account: Pick<Account, 'schema'>): string {
  return account.schema === 'public' ? 'public,cartodb,postgis' : `"${account.schema}",cartodb,public,postgis`
}
