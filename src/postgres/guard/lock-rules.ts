/** A lock that a backend waits for, or a row lock that it holds while it waits for another transaction. */
export type LockRow = Readonly<{
  pid: number
  locktype: string
  /** 0: shared by the whole cluster. */
  database: number
  /** For a relation, or a row of it. */
  relation: number | null
  /** For any other object: its catalog, and its row there. */
  classid: number | null
  objid: number | null
  mode: string
  granted: boolean
  waitedMs: number
}>

/**
 * What a lock is on. `shared`: catalogs, databases, roles and everything else that no tenant owns. `owned`: only its
 * database knows the owner.
 */
export type Ownership = 'shared' | 'owned'

/** Undefined: the lock is on no object, or PostgreSQL takes it by itself. */
export function placeOf({ locktype, database, relation, classid, objid }: LockRow): Ownership | undefined {
  if (locktype === 'relation') return isBuiltIn(database, relation) ? 'shared' : 'owned'
  if (locktype !== 'object' || isNotifyQueue(classid, objid)) return undefined
  return isBuiltIn(database, objid) ? 'shared' : 'owned'
}

/** Stronger than what reading and writing rows needs: all later requests queue behind it. */
export const isStrong = ({ mode }: Pick<LockRow, 'mode'>) => !weakModes.has(mode)

const weakModes = new Set(['AccessShareLock', 'RowShareLock', 'RowExclusiveLock'])

/**
 * An update of a shared catalog's row waits for the last transaction that changed it, and holds a lock on the row
 * meanwhile.
 */
export function isForSharedRow(wait: LockRow, locks: readonly LockRow[]): boolean {
  if (wait.locktype !== 'transactionid') return false
  return locks.some(
    ({ pid, locktype, granted, database }) =>
      pid === wait.pid && locktype === 'tuple' && granted && database === 0,
  )
}

/** The object's name in the error for the caller. */
export function nameOf(
  { locktype, relation, classid }: LockRow,
  catalogs: ReadonlyMap<number, string>,
): string {
  if (locktype === 'transactionid') return 'a row of a shared catalog'
  if (relation !== null) return catalogs.get(relation) ?? 'a table that is not its own'
  if (classid === pgDatabase) return 'a database'
  return classid === pgAuthid ? 'a role' : 'an object that is not its own'
}

/** Created by initdb, or shared by the whole cluster. */
const isBuiltIn = (database: number, oid: number | null) => database === 0 || (oid ?? 0) < firstNormalOid

/** Every NOTIFY holds this lock at its commit. */
const isNotifyQueue = (classid: number | null, objid: number | null) => classid === pgDatabase && objid === 0

const firstNormalOid = 16_384
const pgDatabase = 1262
const pgAuthid = 1260
