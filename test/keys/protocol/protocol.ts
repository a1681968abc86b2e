import type { Bounds } from '../../support/search/bounds.ts'

/**
 * The guards of the protocol by which keys are made and deleted, each of which can be left out. A key is two things that
 * no transaction holds together: a role with its grants on the host of its user, and a record in the control database. The
 * model is searched with all guards, where nothing must be found, and without each, which shows what it is for.
 *
 * This is a design proof: it repeats what src/keys/create-key.ts, delete-key.ts and repair-keys.ts do, as their steps are
 * statements to two databases. `faults/late-commit`, `keys/lifecycle` and the chaos test hold the service to it.
 *
 * Read on in state.ts (what there is), clients.ts and repair.ts (who acts), databases.ts and faults.ts (what the databases
 * do, and what goes wrong) and invariants.ts (what must hold). What is left out: a control database that was set back
 * and gives out the number of a key again.
 */
export type Protocol = Readonly<{
  /** A creation holds the lock of its user from before the role is made until its transaction ends. */
  isLockHeld: boolean
  /** The record is committed only after the role. */
  isRoleAwaited: boolean
  /** Who does not know whether its commit happened waits for the lock, so for the end of the transaction, */
  isLockAwaited: boolean
  /** and then asks whether the key was recorded, before it removes the role. */
  isKeyAsked: boolean
  /** A deletion removes the record first, and the role after that is committed, */
  isRecordRemovedFirst: boolean
  /** and known to be. */
  isRemovalKnown: boolean
  /** Repair leaves a role alone while somebody has the lock of its user, */
  isLockTried: boolean
  /** and asks for the key once more when it has the lock itself. */
  isKeyAskedAgain: boolean
  /** Repair gives a role to a key without one only if it still has none when repair has the lock. */
  isRoleAskedAgain: boolean
  /** There is a repair. */
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
  /** Between a process and one of the two databases. A COMMIT that was sent may arrive at any time after that. */
  'cutConnection',
  /** Somebody who waits for the lock gives up. */
  'impatience',
  /** Of a client or of repair. */
  'processCrash',
  /** Of one of the two databases: it ends all transactions. */
  'serverCrash',
  /** Somebody drops the role of a key by hand. */
  'droppedRole',
] as const

export type Chance = (typeof chances)[number]

/** What each client wants. There is one key already. */
export type Setting = Readonly<{
  protocol: Protocol
  clients: readonly ('create' | 'delete')[]
  bounds: Bounds<Chance>
}>
