import { quoteName } from '../../contract/text/quote.ts'
import { errors } from '../../errors.ts'
import { holdName } from '../advisory-locks.ts'
import { oldestSupportedMajor } from '../cluster/find-binaries.ts'
import type { Databases } from '../databases.ts'
import { firstHostId, type Hosts } from '../hosts.ts'
import { type Migration, migrate } from '../migrate.ts'
import type { Session } from '../session.ts'
import { adminTarget } from '../session-target.ts'
import { hasSqlstate, sqlstate } from '../sqlstate.ts'
import { restoreDraftName } from '../tenant-names.ts'

/** Creates the control database if it is missing, and migrates it. Returns whether it is new. */
export function prepareControlDatabase(
  databases: Databases,
  name: string,
  migrations: readonly Migration[],
): Promise<boolean> {
  return prepareDatabase(databases, firstHostId, name, migrations)
}

/** The same for the service's own database on another host. */
export async function prepareHostDatabase(
  databases: Databases,
  hostId: number,
  migrations: readonly Migration[],
): Promise<void> {
  await prepareDatabase(databases, hostId, databases.namespace, migrations)
}

/** True if the service's own database on this host is the control database of an installation. */
export async function isControlDatabase(
  { admin, hosts, namespace }: Databases,
  hostId: number,
): Promise<boolean> {
  const { rowCount } = await admin.use(adminTarget(hosts, hostId, namespace), (session) =>
    session.query(`select from pg_catalog.pg_tables where schemaname = 'cartage' and tablename = 'users'`),
  )
  return rowCount === 1
}

async function prepareDatabase(
  databases: Databases,
  hostId: number,
  name: string,
  migrations: readonly Migration[],
): Promise<boolean> {
  await createIfMissing(databases, hostId, name)
  // Not on the control pool: its statement timeout is too short for a migration.
  return databases.admin.use(adminTarget(databases.hosts, hostId, name), async (session) => {
    const applied = await session
      .onClient((client) => migrate(client, migrations))
      .catch((error: unknown) => {
        if (!databases.hosts.isControlOnly(hostId)) throw error
        throw toControlRights(error, `make tables in the database ${name}, as it is not its owner`)
      })
    return applied.length === migrations.length
  })
}

async function createIfMissing({ admin, hosts }: Databases, hostId: number, name: string): Promise<void> {
  await admin.use(adminTarget(hosts, hostId), async (session) => {
    const { isSuperuser } = await readServer(session)
    if (!isSuperuser) acceptControlOnly(hosts, hostId)
    // Processes that start together do this one after the other.
    await holdName(session, name)
    const { rowCount } = await session.query('select from pg_catalog.pg_database where datname = $1', [name])
    if (rowCount) return
    await refuseDraft(session, restoreDraftName(name))
    await session
      .query(`create database ${quoteName(name)} template template0 encoding 'UTF8'`)
      .catch((error: unknown) => {
        throw toControlRights(error, `create the database ${name}`)
      })
    await session.query(`revoke all on database ${quoteName(name)} from public`)
  })
}

const toControlRights = (error: unknown, act: string) =>
  hasSqlstate(error, sqlstate.insufficientPrivilege) ? errors.controlRightsMissing(act, error) : error

/** What a restore has left half-made must not be taken for an empty server. */
async function refuseDraft(session: Session, draft: string): Promise<void> {
  const { rowCount } = await session.query('select from pg_catalog.pg_database where datname = $1', [draft])
  if (rowCount)
    throw errors.restoreRefused(
      `A restore into this PostgreSQL has not ended: repeat the restore, or drop the database ${draft} to start without it`,
    )
}

/** Refuses a server that is too old. */
async function readServer(session: Session): Promise<Readonly<{ isSuperuser: boolean }>> {
  const { rows } = await session.query<{ major: number; isSuperuser: boolean }>(
    `select pg_catalog.current_setting('server_version_num')::integer / 10000 as major,
       (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser"`,
  )
  const { major, isSuperuser } = rows[0]!
  if (major < oldestSupportedMajor) throw errors.postgresTooOld(major, oldestSupportedMajor)
  return { isSuperuser }
}

/** A role that is no superuser may have been given the right to all settings of ours, so the login did not tell. */
function acceptControlOnly(hosts: Hosts, hostId: number): void {
  if (hostId !== firstHostId) throw errors.notSuperuser(undefined)
  hosts.useFirstForControlOnly()
}
