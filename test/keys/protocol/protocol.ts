import type { Bounds } from '../../support/search/bounds.ts'

/**
 * The guards of the protocol that creates and deletes keys, each of which can be switched off. A key is two things that
 * no single transaction covers: a role with its grants on the host of its user, and a record in the control database.
 * The model is searched with all guards, where nothing may break, and without each, which shows what it is for.
 *
 * This is a model: it repeats what src/keys/create-key.ts, delete-key.ts and repair-keys.ts do, because their steps are
 * statements to two databases. `faults/late-commit`, `keys/lifecycle` and the chaos test check that the service behaves
 * like it.
 *
 * Read on in state.ts (the data), clients.ts and repair.ts (who acts), databases.ts and faults.ts (what the databases
 * do and what goes wrong) and invariants.ts (what must hold). The model leaves out a control database that was set back
 * and gives out the number of a key again.
 */
export type Protocol = Readonly<{
  /** A creation holds the lock of its user from before the role is made until its transaction ends. */
  isLockHeld: boolean
  /** The record is committed only after the role. */
  isRoleAwaited: boolean
  /** A client that does not know whether its commit happened waits for the lock, so for the end of the transaction. */
  isLockAwaited: boolean
  /** It then asks whether the key was recorded, before it removes the role. */
  isKeyAsked: boolean
  /** A deletion removes the record first, and the role after that is committed. */
  isRecordRemovedFirst: boolean
  /** The commit must be known to have happened. */
  isRemovalKnown: boolean
  /** Repair leaves a role alone while another session has the lock of its user. */
  isLockTried: boolean
  /** Repair asks for the key again once it has the lock. */
  isKeyAskedAgain: boolean
  /** Repair gives a role to a key without one only if it still has none when repair has the lock. */
  isRoleAskedAgain: boolean
  /** Repair exists. */
  isRepaired: boolean
}>

export const wholeProtocol: Protocol = {
  isLockHeld: true,
  isRoleAwaited: true,
  isLockAwaited: true,
  isKeyAsked: true,
  isRecordRemovedFirst: true,
  isRemovalKnown: true,
  isLockTried: true,
  isKeyAskedAgain: true,
  isRoleAskedAgain: true,
  isRepaired: true,
}

export const chances = [
  /** The role is refused, or a transaction fails. */
  'failure',
  /** The connection between a process and one of the two databases is cut. A COMMIT that was sent may still arrive. */
  'cutConnection',
  /** A process that waits for the lock gives up. */
  'impatience',
  /** A client or repair dies. */
  'processCrash',
  /** One of the two databases crashes: all its transactions end. */
  'serverCrash',
  /** An administrator drops the role of a key by hand. */
  'droppedRole',
] as const

export type Chance = (typeof chances)[number]

/** What each client wants to do. One key exists already. */
export type Setting = Readonly<{
  protocol: Protocol
  clients: readonly ('create' | 'delete')[]
  bounds: Bounds<Chance>
}>
