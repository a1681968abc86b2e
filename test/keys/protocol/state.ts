import { type Bounds, spent } from '../../support/search/bounds.ts'
import type { Act as ActOn } from '../../support/search/search.ts'
import type { Chance, Setting } from './protocol.ts'

/** A unique id that is never used again. Ids are negative, so that the search can tell them from other numbers. */
export type Id = number

/** A key and its role have the same number, which the control database gives out once. */
export type KeyNumber = number

/** An open transaction on the control database. If no client has its id, its outcome is never answered. */
export type Change = Readonly<{
  id: Id
  adds: KeyNumber | null
  removes: KeyNumber | null
  /** The COMMIT was sent. */
  isSent: boolean
}>

/** An open transaction on the host that makes a role; its COMMIT was sent. */
export type Creation = Readonly<{ id: Id; key: KeyNumber; isGranted: boolean }>

/** `isGranted`: it has its grants, and its database has recorded it. */
export type Role = Readonly<{ key: KeyNumber; isGranted: boolean }>

/**
 * A creation: idle -> locked -> making -> made -> recording -> created; if a connection is lost or a transaction fails,
 * failing -> doubting -> undoing -> failed. A deletion: idle -> made -> recording -> removing -> deleted, or failed.
 */
export type Stage =
  | 'idle'
  | 'locked'
  | 'making'
  | 'made'
  | 'recording'
  | 'failing'
  | 'doubting'
  | 'undoing'
  | 'removing'
  | Answer

/** The answer. `failed`: an error that says nothing of the key. `refused`: there is no key. */
export type Answer = 'created' | 'deleted' | 'refused' | 'failed' | 'dead'

/** The process that serves one request. */
export type Client = Readonly<{
  wants: 'create' | 'delete'
  stage: Stage
  key: KeyNumber | null
  /** Its transactions, while their connection lives. */
  change: Id | null
  creation: Id | null
}>

/** What repair has seen and has left to do. */
export type Repair = Readonly<{
  /** The roles that it has seen; null once it has read the keys as well. */
  seen: readonly KeyNumber[] | null
  surplus: readonly KeyNumber[]
  missing: readonly KeyNumber[]
  /** The first of `surplus` is known to be an orphan. */
  isRemoving: boolean
  /** It makes a role for the first of `missing` and holds the lock. */
  change: Id | null
  creation: Id | null
  /** Nothing else has happened since it began. */
  isAlone: boolean
}>

export type State = Readonly<{
  /** The recorded keys. */
  keys: readonly KeyNumber[]
  nextKey: KeyNumber
  changes: readonly Change[]
  /** The transaction that has the lock of the user. */
  lock: Id | null
  roles: readonly Role[]
  creations: readonly Creation[]
  clients: readonly Client[]
  repair: Repair | null
  /** Keys whose role was dropped by hand. */
  bereft: readonly KeyNumber[]
  left: Bounds<Chance>
  ids: number
}>

export type Act = ActOn<State>

export function initialState({ clients, bounds }: Setting): State {
  return {
    keys: [0],
    nextKey: 1,
    changes: [],
    lock: null,
    roles: [{ key: 0, isGranted: true }],
    creations: [],
    clients: clients.map((wants) => ({ wants, stage: 'idle', key: null, change: null, creation: null })),
    repair: null,
    bereft: [],
    left: bounds,
    ids: 0,
  }
}

export function newId(state: State): readonly [State, Id] {
  const ids = state.ids + 1
  return [{ ...state, ids }, -ids]
}

export function may({ left }: State, chance: Chance): boolean {
  return left[chance] > 0
}

export function spend(state: State, chance: Chance): State {
  const repair = state.repair && { ...state.repair, isAlone: false }
  return { ...state, repair, left: spent(state.left, chance) }
}

export function putClient(state: State, index: number, change: Partial<Client>): State {
  const clients = state.clients.map((client, place) => (place === index ? { ...client, ...change } : client))
  return { ...state, clients }
}

export function hasRole({ roles }: State, key: KeyNumber): boolean {
  return roles.some((role) => role.key === key)
}

export function dropRole(state: State, key: KeyNumber): State {
  return { ...state, roles: state.roles.filter((role) => role.key !== key) }
}

/** Ends a transaction of the control database, if still open, and releases its lock. */
export function endChange(state: State, id: Id | null): State {
  const changes = state.changes.filter((change) => change.id !== id)
  return { ...state, changes, lock: state.lock === id ? null : state.lock }
}

const answers: readonly Stage[] = ['created', 'deleted', 'refused', 'failed', 'dead'] satisfies Answer[]

export const isAnswered = ({ stage }: Client): boolean => answers.includes(stage)

/** No request runs, and no transaction is open. */
export function isQuiet({ clients, changes, creations }: State): boolean {
  return clients.every(isAnswered) && changes.length === 0 && creations.length === 0
}

/** Each key has a role, and there is no other role. */
export function isWhole({ keys, roles }: State): boolean {
  return keys.length === roles.length && roles.every(({ key }) => keys.includes(key))
}
