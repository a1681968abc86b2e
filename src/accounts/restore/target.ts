import { quoteName } from '../../contract/text/quote.ts'
import { AppError, errors } from '../../errors.ts'
import { advisoryLocks, holdName } from '../../postgres/advisory-locks.ts'
import type { Databases } from '../../postgres/databases.ts'
import { endBackendsUntilGone } from '../../postgres/end-backend.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { restoreDraftName, templateName } from '../../postgres/tenant-names.ts'
import { backoff, retry } from '../../waiting/retry.ts'
import type { Backup } from './saved-user.ts'

/**
 * Runs `work` while no other restore can work on the server. The lock belongs to this session, so use it for the work:
 * if the session is lost, so is the lock.
 */
export async function holdingTarget<T>(
  { admin, hosts }: Databases,
  namespace: string,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return admin.use(adminTarget(hosts, firstHostId), async (session) => {
    const { rows } = await session.query<{ held: boolean }>(
      'select pg_catalog.pg_try_advisory_lock($1, pg_catalog.hashtext($2)) as held',
      [advisoryLocks.name, restoreDraftName(namespace)],
    )
    if (!rows[0]!.held)
      throw errors.restoreRefused('Another restore into this PostgreSQL is running: wait until it ends')
    return work(session)
  })
}

/** The control database that is being made. The oid tells it from one that another restore has made since. */
export type RestoreDraft = Readonly<{ namespace: string; oid: number }>

/**
 * Makes the draft on a server that the backup can be restored into. While the draft exists, no service can make an
 * installation: a starting service takes the same lock and looks for the draft.
 */
export function beginTarget(
  { admin, hosts }: Databases,
  saved: Pick<Backup, 'namespace' | 'major'>,
): Promise<RestoreDraft> {
  const { namespace } = saved
  const draft = restoreDraftName(namespace)
  return admin.use(adminTarget(hosts, firstHostId), async (session) => {
    await holdName(session, namespace)
    await prepareTarget(session, saved)
    await session.query(`create database ${quoteName(draft)} template template0 encoding 'UTF8'`)
    await session.query(`revoke all on database ${quoteName(draft)} from public`)
    return { namespace, oid: (await oidOf(session, draft))! }
  })
}

/**
 * The last step: gives the draft its name. Each try is a session of its own, as one may have been lost since the restore
 * began. Programs that watch a server may be connected to the draft: they are ended.
 */
export async function nameTarget(
  { admin, hosts }: Databases,
  { namespace, oid }: RestoreDraft,
): Promise<void> {
  const draft = restoreDraftName(namespace)
  const name = () =>
    admin.use(adminTarget(hosts, firstHostId), async (session) => {
      await holdName(session, namespace)
      // A try before has done it, and its answer was lost.
      if ((await oidOf(session, namespace)) === oid) return
      if ((await oidOf(session, draft)) !== oid)
        throw errors.restoreRefused(`The database ${draft} was removed`)
      await endBackendsUntilGone(session, 'datname = $1', [draft])
      await session.query(`alter database ${quoteName(draft)} rename to ${quoteName(namespace)}`)
    })
  const isTransient = (error: unknown) => !(error instanceof AppError && error.code === 'restore-refused')
  await retry(name, { attempts: 10, isTransient, pauseMs: backoff(200, 5_000) })
}

async function oidOf(session: Session, database: string): Promise<number | undefined> {
  const { rows } = await session.query<{ oid: number }>(
    'select oid from pg_catalog.pg_database where datname = $1',
    [database],
  )
  return rows[0]?.oid
}

/** Refuses a server that the backup cannot be restored into. Removes what a restore has left there that was cut off. */
async function prepareTarget(
  session: Session,
  { namespace, major }: Pick<Backup, 'namespace' | 'major'>,
): Promise<void> {
  const { rows } = await session.query<TargetServer>(
    `select pg_catalog.current_setting('server_version_num')::integer / 10000 as major,
       exists (select from pg_catalog.pg_available_extensions where name = 'postgis') as "hasPostgis",
       (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser"`,
  )
  const target = rows[0]!
  if (!target.isSuperuser) throw errors.notSuperuser(undefined)
  if (target.major < major)
    throw errors.restoreRefused(
      `This PostgreSQL has the version ${target.major}, which is older than ${major} of the backup`,
    )
  if (!target.hasPostgis) throw errors.restoreRefused('PostGIS is not installed in this PostgreSQL')
  const names = await namesOn(session, namespace)
  if (names.databases.includes(namespace))
    throw errors.restoreRefused(
      `This PostgreSQL has a database ${namespace}: a backup is restored into a server without an installation`,
    )
  // The draft is created first, and only on a server without these names.
  if (names.databases.includes(restoreDraftName(namespace))) return clearTarget(session, namespace)
  const [taken] = [...names.databases, ...names.roles]
  if (taken)
    throw errors.restoreRefused(
      `This PostgreSQL has a database or role ${taken}, and the backup may use the same name: remove it, or use another server`,
    )
}

type TargetServer = Readonly<{ major: number; hasPostgis: boolean; isSuperuser: boolean }>

/** Drops what a restore has made. The draft goes last: as long as it is there, the next restore begins with this. */
export async function clearTarget(session: Session, namespace: string): Promise<void> {
  const { databases, roles } = await namesOn(session, namespace)
  const draft = restoreDraftName(namespace)
  // An installation has such names too.
  if (databases.includes(namespace) || !databases.includes(draft))
    throw errors.restoreRefused(`This PostgreSQL has a database ${namespace}, or none ${draft}`)
  await session.query(`set statement_timeout = '30min'`)
  const drop = (name: string) => session.query(`drop database ${quoteName(name)} with (force)`)
  for (const name of databases) if (name !== draft) await drop(name)
  for (const role of roles) await session.query(`drop role ${quoteName(role)}`)
  await drop(draft)
}

type InstallationNames = Readonly<{ databases: readonly string[]; roles: readonly string[] }>

/** Databases and roles that are named as those of an installation. */
async function namesOn(session: Session, namespace: string): Promise<InstallationNames> {
  const { rows } = await session.query<InstallationNames>(
    `select array(select datname::text from pg_catalog.pg_database where datname = any ($1) or datname ~ $2) as databases,
       array(select rolname::text from pg_catalog.pg_roles where rolname ~ $2) as roles`,
    [[namespace, templateName(namespace), restoreDraftName(namespace)], `^${namespace}_[uo][0-9]+(_|$)`],
  )
  return rows[0]!
}
