import type { Protocol } from './protocol.ts'
import {
  type Act,
  dropRole,
  endChange,
  hasRole,
  type Id,
  isQuiet,
  isWhole,
  type KeyNumber,
  newId,
  type Repair,
  type State,
} from './state.ts'

/** All that repair may do next. It reads roles first, then keys, and handles each one without the other. */
export function repairActs(protocol: Protocol, state: State): readonly Act[] {
  const { repair } = state
  if (!repair) return begin(protocol, state)
  if (repair.seen) return [['repair asks for the keys', compare(state, repair, repair.seen)]]
  if (repair.creation !== null) return []
  if (repair.surplus.length > 0) return removeRole(protocol, state, repair, repair.surplus[0]!)
  return replaceRole(protocol, state, repair, repair.missing[0]!)
}

/** In a quiet and whole state repair would find nothing, now or later. */
function begin({ isRepaired }: Protocol, state: State): readonly Act[] {
  if (!isRepaired || (isQuiet(state) && isWhole(state))) return []
  const idle = { surplus: [], missing: [], isRemoving: false, change: null, creation: null }
  const repair = { ...idle, seen: state.roles.map(({ key }) => key), isAlone: isQuiet(state) }
  return [['repair asks for the roles', { ...state, repair }]]
}

function compare(state: State, repair: Repair, seen: readonly KeyNumber[]): State {
  const surplus = seen.filter((key) => !state.keys.includes(key))
  const missing = state.keys.filter((key) => !seen.includes(key))
  return goOn(state, { ...repair, seen: null, surplus, missing })
}

/** Continues with what is left, or ends. */
function goOn(state: State, repair: Repair): State {
  const isOver = repair.surplus.length === 0 && repair.missing.length === 0
  return { ...state, repair: isOver ? null : repair }
}

/** A role with neither lock nor record is an orphan. The lock is not held while the role is removed. */
function removeRole(
  { isLockTried, isKeyAskedAgain }: Protocol,
  state: State,
  repair: Repair,
  key: KeyNumber,
): readonly Act[] {
  const next = { ...repair, surplus: repair.surplus.slice(1), isRemoving: false }
  if (repair.isRemoving) return [[`repair removes the role of key ${key}`, goOn(dropRole(state, key), next)]]
  const isFree = !isLockTried || state.lock === null
  const isLeftOver = isFree && !(isKeyAskedAgain && state.keys.includes(key))
  if (!isLeftOver) return [[`repair leaves the role of key ${key} alone`, goOn(state, next)]]
  return [[`repair finds the role of key ${key} left over`, goOn(state, { ...repair, isRemoving: true })]]
}

/** Holds the lock while it makes a role without grants for a key that has none. */
function replaceRole(
  { isRoleAskedAgain }: Protocol,
  state: State,
  repair: Repair,
  key: KeyNumber,
): readonly Act[] {
  const isMissing = !isRoleAskedAgain || !hasRole(state, key)
  if (state.lock !== null || !state.keys.includes(key) || !isMissing) {
    const next = { ...repair, missing: repair.missing.slice(1) }
    return [[`repair leaves key ${key} alone`, goOn(state, next)]]
  }
  const [first, lock] = newId(state)
  const [named, creation] = newId(first)
  const forgotten = forgetRole(named, key)
  const changes = [...forgotten.changes, { id: lock, adds: null, removes: null, isSent: false }]
  const creations = [...forgotten.creations, { id: creation, key, isGranted: false }]
  const next = { ...repair, change: lock, creation }
  return [[`repair sends a role for key ${key}`, { ...forgotten, changes, lock, creations, repair: next }]]
}

/** The tenant database drops its record of the old role first, so that it can record the new one. */
function forgetRole(state: State, key: KeyNumber): State {
  const roles = state.roles.map((role) => (role.key === key ? { ...role, isGranted: false } : role))
  return { ...state, roles }
}

/** The role that repair waits for is made, or not. */
export function endRepairOf(state: State, creation: Id): State {
  const { repair } = state
  if (repair?.creation !== creation) return state
  const next = { ...repair, missing: repair.missing.slice(1), change: null, creation: null }
  return goOn(endChange(state, repair.change), next)
}
