import { quoteName } from '../contract/text/quote.ts'
import type { Databases } from './databases.ts'
import { endBackends } from './end-backend.ts'
import { endingBlockers } from './end-blockers.ts'
import type { Session } from './session.ts'
import { adminTarget } from './session-target.ts'
import { hasSqlstate, sqlstate } from './sqlstate.ts'
import { tenantRolePattern } from './tenant-names.ts'

/**
 * Removes roles from every database of their host except `home`, so that they can be dropped. Roles belong to the whole
 * cluster: any tenant can name another's role in a GRANT, and only an administrator can undo that. Sessions that block
 * this are ended.
 */
export async function dropOwnedElsewhere(
  databases: Databases,
  session: Session,
  roles: readonly string[],
  home?: string,
): Promise<void> {
  const { admin, hosts } = databases
  const { rows } = await session.query<{ datname: string; roles: string[] }>(
    `select datname, pg_catalog.array_agg(distinct rolname::text) as roles
     from pg_catalog.pg_shdepend
     join pg_catalog.pg_authid role on refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid
     join pg_catalog.pg_database database on database.oid = dbid
     where rolname = any($1) and datname is distinct from $2
     group by datname`,
    [roles, home ?? null],
  )
  for (const { datname, roles: mentioned } of rows) {
    await admin.use(adminTarget(hosts, session.target.hostId, datname), (there) =>
      endingBlockers(databases, there, async () => {
        await there.query(`set lock_timeout = '2s'`)
        await dropInSteps(there, mentioned)
        await there.query(`drop owned by ${mentioned.map(quoteName).join(', ')} cascade`)
      }),
    )
  }
}

/**
 * Drops roles with all that names them. A tenant may commit another GRANT between the two steps: then both are repeated,
 * and from the second time on what tenants run in the databases that name the roles is ended first.
 */
export async function dropRolesEverywhere(
  databases: Databases,
  session: Session,
  roles: readonly string[],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await dropOwnedElsewhere(databases, session, roles)
    try {
      await endingBlockers(databases, session, () =>
        session.query(`drop role if exists ${roles.map(quoteName).join(', ')}`),
      )
      return
    } catch (error) {
      if (attempt === mostDrops || !hasSqlstate(error, sqlstate.dependentObjectsStillExist)) throw error
      if (attempt > 1) await endGranters(databases, session, roles)
    }
  }
}

const mostDrops = 6

async function endGranters(
  { namespace }: Databases,
  session: Session,
  roles: readonly string[],
): Promise<void> {
  const inNaming = `datname in (
    select database.datname from pg_catalog.pg_shdepend
    join pg_catalog.pg_authid role on refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid
    join pg_catalog.pg_database database on database.oid = dbid where rolname = any ($1))`
  await endBackends(session, `usename ~ $2 and state <> 'idle' and ${inNaming}`, [
    roles,
    tenantRolePattern(namespace),
  ])
}

/**
 * Drops the objects of roles in a database, and removes the roles from policies, in several transactions: in one, this
 * could take all locks of the cluster, or exceed the statement timeout. The rest is left to `DROP OWNED`.
 */
export async function dropInSteps(session: Session, roles: readonly string[]): Promise<void> {
  if (!(await hasOurFunction(session))) return
  const dropSome = async () => {
    const { rows } = await session.query<{ more: boolean }>('select cartage.drop_some($1) as more', [roles])
    return rows[0]!.more
  }
  await inSteps(dropSome)
}

/** Repeats until nothing is left. Bounded, in case a step makes no progress: the DROP that follows then fails. */
export async function inSteps(doSome: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < mostSteps && (await doSome()); step++);
}

const mostSteps = 10_000

/** False in a database that is not migrated, or in one of another owner, where the name may be a different function. */
async function hasOurFunction(session: Session): Promise<boolean> {
  const { rowCount } = await session.query(
    `select from pg_catalog.pg_proc join pg_catalog.pg_namespace namespace on namespace.oid = pronamespace
     join pg_catalog.pg_roles administrator on administrator.oid = nspowner and administrator.oid = proowner
     where nspname = 'cartage' and proname = 'drop_some' and rolname = current_user`,
  )
  return rowCount === 1
}
