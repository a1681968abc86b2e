import { errors } from '../../errors.ts'
import { acceptsUsers } from '../../hosts/host-store.ts'
import type { Installation } from '../../hosts/installation.ts'
import { newestOf } from '../../hosts/tenant-databases.ts'
import { type DumpPrograms, findDumpPrograms } from '../../postgres/dump/find-programs.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { checkSavedRecords } from '../restore/check-saved.ts'
import { backupHostId } from '../restore/saved-user.ts'
import { alignPrivileges, mayBackupGive, type Privilege, readPrivileges } from './access-lists.ts'
import { fillViews, logInFirst } from './as-the-user.ts'
import { type Picture, picture, withoutPrivileges } from './compare.ts'
import { copyData } from './copy-data.ts'
import { type Household, mastersOf } from './household.ts'
import type { Move, Way } from './move.ts'
import { isMigrated } from './move-store.ts'
import { createMover } from './mover.ts'
import { makePlace, readRecords, requireFreePlace, writeQuotas, writeRecords } from './new-place.ts'
import { giveToOwners, readOwned } from './owners.ts'

/** Refuses what would fail later, while the account is still served. Returns the programs to copy with. */
export async function prepareMove(
  installation: Installation,
  { database, members }: Household,
  move: Move,
): Promise<DumpPrograms> {
  const { control } = installation.databases
  const { fromHostId, toHostId, toHost } = move
  if (!(await acceptsUsers(control, toHostId)))
    throw errors.moveFailed(`The host '${toHost}' takes no new users`)
  const [from, to] = [await majorOf(installation, fromHostId), await majorOf(installation, toHostId)]
  if (to < from)
    throw errors.moveFailed(`The host '${toHost}' has PostgreSQL ${to}, which is older than ${from}`)
  if (!(await isMigrated(control, move, newestOf(installation.tenantMigrations))))
    throw errors.moveFailed('The newest migration is missing in its database: see cartage doctor')
  if (members[0]!.organization && (await hasLargeObjects(installation, fromHostId, database)))
    throw errors.moveFailed('Large objects of an organization cannot be moved: store them in tables')
  await requireFreePlace(installation, database, await mastersOf(installation, move), toHostId)
  return findDumpPrograms(to)
}

/** No tenant can make one, only an operator for it. They are copied with the rows of a user, all as one role. */
async function hasLargeObjects(
  { databases: { admin, hosts } }: Installation,
  hostId: number,
  database: string,
): Promise<boolean> {
  const { rowCount } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query('select from pg_catalog.pg_largeobject_metadata limit 1'),
  )
  return rowCount !== 0
}

/** The version of a host. */
export async function majorOf(
  { databases: { admin, hosts } }: Installation,
  hostId: number,
): Promise<number> {
  const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ major: number }>(
      `select pg_catalog.current_setting('server_version_num')::integer / 10000 as major`,
    ),
  )
  return rows[0]!.major
}

type Copy = Readonly<{
  /** On the host that it is copied from. */
  household: Household
  move: Way
  programs: DumpPrograms
  roles: readonly string[]
  signal: AbortSignal
  noteProgress: (percent: number) => Promise<void>
}>

type Pictures = Readonly<{ before: Promise<Picture>; after: () => Promise<Picture> }>

/** Copies all of the account to the other host, and says how to compare the two. */
export async function copyAccount(installation: Installation, copy: Copy): Promise<Pictures> {
  const { household, move, roles, noteProgress, signal } = copy
  const { database, members } = household
  const { databases, secrets } = installation
  const isFromBackup = move.fromHostId === backupHostId
  const on = <T>(hostId: number, work: (session: Session) => Promise<T>) =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), work)
  await makePlace(installation, household, move.toHostId, roles)
  await logInFirst(installation, { ...members[0]!, hostId: move.toHostId })
  for (const hostId of [move.fromHostId, move.toHostId])
    await createMover(databases, secrets, hostId, household)
  const { owned, privileges, records, bytes } = await on(move.fromHostId, async (session) => ({
    owned: await readOwned(session, roles),
    privileges: await readPrivileges(session, roles),
    records: await readRecords(session),
    bytes: await sizeOf(session),
  }))
  if (isFromBackup) checkSavedRecords(records)
  const before = picture(installation, database, move.fromHostId, roles)
  // Awaited later, like what follows from it: until then a failure must not count as unhandled.
  before.catch(() => undefined)
  const size = () => on(move.toHostId, sizeOf)
  const fits = <T>(work: (late: AbortSignal) => Promise<T>) =>
    whileItFits((tooLarge) => work(AbortSignal.any([signal, tooLarge])), size, 2 * bytes + roomBytes)
  const onBytes = progressOf(bytes, noteProgress)
  const filled = await fits((late) => copyData(installation, { ...copy, privileges, signal: late, onBytes }))
  signal.throwIfAborted()
  await noteProgress(80)
  const notGiven = await on(move.toHostId, async (session) => {
    await giveToOwners(session, roles, owned)
    await writeRecords(session, records)
    const left = await alignPrivileges(session, roles, privileges, isFromBackup ? mayBackupGive : () => true)
    if (left.different[0])
      throw errors.moveFailed(`A privilege could not be copied: ${JSON.stringify(left.different[0])}`)
    return left.notGiven
  })
  if (notGiven.length > 0) tellNotGiven(installation, household, notGiven)
  signal.throwIfAborted()
  await on(move.toHostId, (session) => writeQuotas(session, records))
  await fits((late) => fillViews(installation, household, move, filled, late))
  const wanted = before.then((whole) => withoutPrivileges(whole, notGiven))
  wanted.catch(() => undefined)
  return {
    before: wanted,
    after: () => picture(installation, database, move.toHostId, roles),
  }
}

/** An error, so that commands show it: the operator has to do something. */
function tellNotGiven({ log }: Installation, { members }: Household, privileges: readonly Privilege[]): void {
  const shown = privileges
    .slice(0, mostShown)
    .map(
      ({ privilege, kind, object, grantee }) => `${privilege} on ${kind} ${object} to ${grantee ?? 'public'}`,
    )
  log.error(
    { user: members[0]!.username, privileges: shown, count: privileges.length },
    'privileges that were given by hand are not restored: give them again where they are meant',
  )
}

const mostShown = 50

/** Without a quota code of the tenant that runs meanwhile could fill the disk of the other host. */
async function whileItFits<T>(
  work: (tooLarge: AbortSignal) => Promise<T>,
  size: () => Promise<number>,
  mostBytes: number,
): Promise<T> {
  const tooLarge = new AbortController()
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    if ((await size()) > mostBytes)
      tooLarge.abort(errors.moveFailed('The copy is twice as large as the account'))
    isLooking = false
  }
  const cannotTell = () => tooLarge.abort(errors.moveFailed('The size of the copy cannot be read'))
  const timer = setInterval(() => void look().catch(cannotTell), 2_000)
  try {
    return await work(tooLarge.signal)
  } finally {
    clearInterval(timer)
  }
}

/** An empty database has some of it. */
const roomBytes = 1024 ** 3

async function sizeOf(session: Session): Promise<number> {
  const { rows } = await session.query<{ bytes: string }>(
    'select pg_catalog.pg_database_size(pg_catalog.current_database()) as bytes',
  )
  return Number(rows[0]!.bytes)
}

/** The rows are the longest part: from 5 to 75 percent, by the size of the database, at most once a second. */
function progressOf(expected: number, note: (percent: number) => Promise<void>): (bytes: number) => void {
  let copied = 0
  let notedAt = Number.NEGATIVE_INFINITY
  return (bytes) => {
    copied += bytes
    if (performance.now() - notedAt < 1_000) return
    notedAt = performance.now()
    void note(5 + Math.round(70 * Math.min(1, copied / expected)))
  }
}
