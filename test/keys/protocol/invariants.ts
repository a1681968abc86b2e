import { isWhole, type State } from './state.ts'

export type Invariant = keyof typeof invariants | typeof isHealed

/** Each checks one state, or the step that led to it. */
const invariants = {
  'a recorded key has its role with its grants': isKeyWithoutRole,
  'what was answered is so': isAnsweredWrongly,
  'repair by itself leaves a role for each key, and no other': isLeftUnrepaired,
} as const satisfies Record<string, (after: State, before: State) => boolean>

export function findBroken(after: State, before: State): Invariant | undefined {
  const names = Object.keys(invariants) as (keyof typeof invariants)[]
  return names.find((name) => invariants[name](after, before))
}

const isHealed = 'in the end each key has a role, and there is no other'

export function findBrokenAtRest(state: State): Invariant | undefined {
  return isWhole(state) ? undefined : isHealed
}

/** Except keys whose role was dropped by hand. */
function isKeyWithoutRole({ keys, roles, bereft }: State): boolean {
  const isWorking = (key: number) => roles.some((role) => role.key === key && role.isGranted)
  return keys.some((key) => !isWorking(key) && !bereft.includes(key))
}

/** A key that was refused or deleted does not exist. A created one existed at that moment. */
function isAnsweredWrongly(after: State, before: State): boolean {
  return after.clients.some(({ stage, key }, index) => {
    const isRecorded = key !== null && after.keys.includes(key)
    const isNew = stage !== before.clients[index]!.stage
    if (stage === 'created') return isNew && !isRecorded
    return (stage === 'refused' || stage === 'deleted') && isRecorded
  })
}

/** A chance spent on the last step means that the step was a fault, not repair. */
function isLeftUnrepaired(after: State, before: State): boolean {
  const isOver = before.repair?.isAlone && after.repair === null && after.left === before.left
  return isOver === true && !isWhole(after)
}
