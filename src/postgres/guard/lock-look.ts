import { errors } from '../../errors.ts'
import { type Databases, tenantPools } from '../databases.ts'
import type { Session } from '../session.ts'
import { adminTarget } from '../session-target.ts'
import { hasSqlstate, sqlstate } from '../sqlstate.ts'
import { tenantRolePattern } from '../tenant-names.ts'
import { mayLock } from './lock-rights.ts'
import { isForSharedRow, isStrong, type LockRow, nameOf, type Ownership, placeOf } from './lock-rules.ts'
import type { AskHost, Ended, GuardLook } from './look.ts'
import { OwnersTurn } from './owners-turn.ts'

/**
 * Ends tenants' backends that block objects which all tenants share. PostgreSQL takes some locks before it checks
 * privileges, and every later request queues behind one that waits for a strong lock:
 * - a backend that waits for more than RowExclusive on a catalog, a shared object, a database, or a relation that its
 *   role has no right on, is ended at once;
 * - a backend that holds a lock there is ended when others have waited for it for two seconds.
 */
export function lookAtLocks(databases: Databases): GuardLook {
  const watches = new Map<number, LockWatch>()
  return {
    name: 'locks',
    everyMs: 1_000,
    // An ended caller may try again at once.
    alertMs: 100,
    look: (guarded) => {
      const { id } = guarded.host
      const watch = watches.get(id) ?? new LockWatch(databases, id)
      watches.set(id, watch)
      return watch.look(guarded.ask)
    },
  }
}

/** A lock, and a tenant's backend that holds it or waits for it. */
type Suspect = Readonly<{
  lock: SeenLock
  act: 'waited for' | 'held'
  place: Ownership
  role: string
  /** Undefined: the session of another process. */
  session: Session | undefined
}>

type SeenLock = LockRow & Readonly<{ backendStart: string; roleId: number | null }>

/** The locks of one host. */
class LockWatch {
  readonly #databases: Databases
  readonly #hostId: number
  readonly #isTenant: RegExp
  /** Role names by id: they cannot be read while a catalog is locked. */
  #roles: ReadonlyMap<number, string> = new Map()
  #catalogs: ReadonlyMap<number, string> = new Map()
  readonly #ownersTurn = new OwnersTurn()
  /** By backend and lock: until when it need not be checked again. */
  readonly #checkedUntil = new Map<string, number>()
  readonly #cancelled = new WeakSet<Session>()
  /** Ended since the last round. */
  #ended: Ended[] = []

  constructor(databases: Databases, hostId: number) {
    this.#databases = databases
    this.#hostId = hostId
    this.#isTenant = new RegExp(tenantRolePattern(databases.namespace))
  }

  async look(ask: AskHost): Promise<readonly Ended[]> {
    const locks = await ask<SeenLock>(waiting)
    const waits = locks.filter(({ granted }) => !granted)
    const waiters = this.#suspects(waits.filter(isStrong), 'waited for')
    const culprits = waiters.filter(({ place }) => place === 'shared').map(({ lock }) => lock.pid)
    const long = waits.filter(({ pid, waitedMs }) => waitedMs > patienceMs && !culprits.includes(pid))
    await this.#endAll(ask, waiters)
    if (long.length > 0) await this.#endAll(ask, await this.#holders(ask, long, locks))
    // Otherwise the catalog of roles itself may be locked.
    if (culprits.length === 0) await this.#learn(ask)
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  async #holders(ask: AskHost, waits: readonly SeenLock[], locks: readonly LockRow[]) {
    const pids = waits.filter((wait) => placeOf(wait) || isForSharedRow(wait, locks)).map(({ pid }) => pid)
    return pids.length === 0 ? [] : this.#suspects(await ask<SeenLock>(blocking, [pids]), 'held')
  }

  /** Tenants' locks on objects that matter. */
  #suspects(locks: readonly SeenLock[], act: Suspect['act']): readonly Suspect[] {
    const pools = tenantPools(this.#databases)
    return locks.flatMap((lock) => {
      const place = isRowHeld(lock, act) ? 'shared' : placeOf(lock)
      const session = pools.map((each) => each.find(this.#hostId, lock.pid)).find(Boolean)
      const role = session?.target.role ?? this.#roles.get(lock.roleId ?? 0) ?? ''
      return place && this.#isTenant.test(role) ? [{ lock, act, place, role, session }] : []
    })
  }

  async #endAll(ask: AskHost, suspects: readonly Suspect[]): Promise<void> {
    for (const suspect of suspects) if (suspect.place === 'owned') this.#check(suspect)
    const due = suspects.filter((suspect) => suspect.place === 'shared' && this.#isDue(suspect))
    // To terminate a backend PostgreSQL reads the catalog of roles, which may be the locked one. A cancel reads no
    // catalog: it makes all of them leave the lock queue for a moment, and the guard gets its turn.
    const cancelAll = () => {
      for (const { session } of due) if (session?.endReason) this.#cancel(session)
    }
    const timer = setInterval(cancelAll, lateMs)
    const startedAt = performance.now()
    try {
      for (const suspect of due) {
        if (performance.now() - startedAt < longestMs) await this.#end(suspect, ask).catch(ignoreLockTimeout)
      }
    } finally {
      clearInterval(timer)
    }
  }

  #isDue({ session, lock }: Suspect): boolean {
    return session !== undefined || this.#ownersTurn.isOver(keyOf(lock))
  }

  /** In the background: it queries the tenant's database, where a tenant may block longer than the guard may wait. */
  #check(suspect: Suspect): void {
    const { lock, act, role, session } = suspect
    const key = `${keyOf(lock)} ${lock.relation ?? lock.objid} ${act}`
    const now = performance.now()
    for (const [each, until] of this.#checkedUntil) if (until < now) this.#checkedUntil.delete(each)
    if (!session || this.#checkedUntil.has(key)) return
    this.#checkedUntil.set(key, now + recheckMs)
    const { admin, hosts } = this.#databases
    const checked = admin.use(
      adminTarget(hosts, this.#hostId, session.target.database),
      async (administrator) => {
        const isAllowed = await mayLock(administrator, role, lock, act === 'waited for')
        if (isAllowed) return
        await this.#end(
          suspect,
          async (text, values) => (await administrator.query(text, values)).rows as never,
        )
      },
    )
    checked.catch(() => this.#checkedUntil.delete(key))
  }

  /** Only if the lock is unchanged. The process that owns the session tells its client the reason. */
  async #end({ lock, act, role, session }: Suspect, ask: AskHost): Promise<void> {
    const what = nameOf(lock, this.#catalogs)
    // A backend ended in the round before may still be seen, and be gone when it is asked for again.
    const earlier = session?.endReason ?? null
    session?.endFor(errors.lockNotAllowed(act, what))
    const { pid, backendStart, locktype, relation, classid, objid } = lock
    const values = [pid, backendStart, act === 'held', locktype, relation, classid, objid]
    const [found] = await ask<{ ended: boolean }>(ending, values)
    if (found || (session && this.#cancelled.has(session)))
      this.#ended.push({ role, why: `${act} a lock on ${what}` })
    else session?.endFor(earlier)
  }

  #cancel(session: Session): void {
    this.#cancelled.add(session)
    session.cancel().catch(() => undefined)
  }

  /**
   * Reads what is needed while catalogs are locked. This also caches, inside PostgreSQL, the roles that it must read to
   * terminate a backend.
   */
  async #learn(ask: AskHost): Promise<void> {
    if (this.#catalogs.size === 0) {
      const rows = await ask<{ oid: number; name: string }>(catalogNames)
      this.#catalogs = new Map(rows.map(({ oid, name }) => [oid, name]))
    }
    const roles = await ask<{ id: number; role: string }>(connectedRoles)
    this.#roles = new Map(roles.map(({ id, role }) => [id, role]))
  }
}

/** The lock of a transaction that has changed a row of a shared catalog. */
const isRowHeld = ({ locktype }: SeenLock, act: Suspect['act']) =>
  locktype === 'transactionid' && act === 'held'

/** The next round tries again. */
function ignoreLockTimeout(error: unknown): void {
  if (!hasSqlstate(error, sqlstate.lockNotAvailable)) throw error
}

const keyOf = ({ pid, backendStart }: SeenLock) => `${pid} ${backendStart}`

/** These read PostgreSQL's shared memory, and no catalog that a tenant could lock. */
const waiting = `
  select lock.pid, locktype, database, relation, classid, objid, mode, granted,
    coalesce(extract(epoch from pg_catalog.clock_timestamp() - waitstart) * 1000, 0)::float8 as "waitedMs",
    backend_start::text as "backendStart", usesysid as "roleId"
  from pg_catalog.pg_lock_status() lock join pg_catalog.pg_stat_get_activity(null) activity on activity.pid = lock.pid
  where not granted or locktype = 'tuple'`

/** The locks that the given backends wait for, and their holders. */
const blocking = `
  with locks as materialized (select * from pg_catalog.pg_lock_status())
  select distinct on (held.pid, held.relation, held.objid) held.pid, held.locktype, held.database, held.relation,
    held.classid, held.objid, held.mode, held.granted, 0 as "waitedMs",
    backend_start::text as "backendStart", usesysid as "roleId"
  from pg_catalog.unnest($1::int[]) waiting (pid)
  cross join lateral pg_catalog.unnest(pg_catalog.pg_blocking_pids(waiting.pid)) blocker (pid)
  join locks wanted on wanted.pid = waiting.pid and not wanted.granted
  join locks held on held.pid = blocker.pid and held.granted and held.locktype = wanted.locktype
    and row(held.database, held.relation, held.transactionid, held.classid, held.objid, held.objsubid)
      is not distinct from row(wanted.database, wanted.relation, wanted.transactionid, wanted.classid, wanted.objid, wanted.objsubid)
  join pg_catalog.pg_stat_get_activity(null) activity on activity.pid = held.pid`

const ending = `
  select pg_catalog.pg_terminate_backend(activity.pid) as ended
  from pg_catalog.pg_stat_get_activity($1) activity
  where backend_start = $2::timestamptz and exists (
    select from pg_catalog.pg_lock_status() lock
    where pid = $1 and granted = $3 and locktype = $4
      and row(relation, classid, objid) is not distinct from row($5::oid, $6::oid, $7::oid))`

const catalogNames = `
  select oid, 'the catalog ' || relname as name from pg_catalog.pg_class where oid < 16384`

const connectedRoles = `
  select distinct usesysid as id, pg_catalog.pg_get_userbyid(usesysid) as role
  from pg_catalog.pg_stat_get_activity(null) where usesysid is not null`

const patienceMs = 2_000
const lateMs = 150
const longestMs = 2_000
const recheckMs = 5_000
