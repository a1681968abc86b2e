/** A lock that somebody waits for, or the lock on a row that somebody who waits for a transaction has taken. */
export type LockRow = Readonly<{
  pid: number
  locktype: string
  /** 0: of the whole cluster. */
  database: number
  /** Of a relation or a row of it. */
  relation: number | null
  /** Of anything else in a catalog: the catalog, and the row in it. */
  classid: number | null
  objid: number | null
  mode: string
  granted: boolean
  waitedMs: number
}>

/**
 * What a lock is on. `everybodys`: catalogs, databases, roles and all else that no tenant owns. `somebodys`: only the
 * database itself can tell whose it is.
 */
export type Place = 'everybodys' | 'somebodys'

/** Undefined: a lock that says nothing of an object, or that PostgreSQL takes by itself. */
export function placeOf({ locktype, database, relation, classid, objid }: LockRow): Place | undefined {
  if (locktype === 'relation') return isBuiltIn(database, relation) ? 'everybodys' : 'somebodys'
  if (locktype !== 'object' || isNotifyQueue(classid, objid)) return undefined
  return isBuiltIn(database, objid) ? 'everybodys' : 'somebodys'
}

/** More than those who read and write rows need: all who come later wait behind it. */
export const isStrong = ({ mode }: Pick<LockRow, 'mode'>) => !weakModes.has(mode)

const weakModes = new Set(['AccessShareLock', 'RowShareLock', 'RowExclusiveLock'])

/** A change of a shared catalog's row waits for the transaction that changed it last, and has the row locked meanwhile. */
export function isForSharedRow(wait: LockRow, locks: readonly LockRow[]): boolean {
  if (wait.locktype !== 'transactionid') return false
  return locks.some(
    ({ pid, locktype, granted, database }) =>
      pid === wait.pid && locktype === 'tuple' && granted && database === 0,
  )
}

/** What the caller is told that it is about. */
export function nameOf(
  { locktype, relation, classid }: LockRow,
  catalogs: ReadonlyMap<number, string>,
): string {
  if (locktype === 'transactionid') return 'a row of a shared catalog'
  if (relation !== null) return catalogs.get(relation) ?? 'a table that is not its own'
  if (classid === pgDatabase) return 'a database'
  return classid === pgAuthid ? 'a role' : 'an object that is not its own'
}

/** What initdb has made, and what belongs to the whole cluster. */
const isBuiltIn = (database: number, oid: number | null) => database === 0 || (oid ?? 0) < firstNormalOid

/** Whoever sends a NOTIFY holds this at its commit. */
const isNotifyQueue = (classid: number | null, objid: number | null) => classid === pgDatabase && objid === 0

const firstNormalOid = 16_384
const pgDatabase = 1262
const pgAuthid = 1260
