import type { CheckDocument } from '../contract/documents.ts'
import type { Installation } from '../hosts/installation.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import type { Host } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { tenantDatabasePattern, tenantRolePattern } from '../postgres/tenant-names.ts'
import { patienceMs } from './check-hosts.ts'
import { readKnownNames, type TenantNames } from './doctor-store.ts'

/** Compares what is on the hosts with the control database. */
export async function checkOrphans(installation: Installation): Promise<readonly CheckDocument[]> {
  const checks = await Promise.all(
    installation.databases.hosts.all().map((host) =>
      // Another check reports a host that does not answer.
      answerWithin(patienceMs, checkHost(installation, host)).catch(() => []),
    ),
  )
  return checks.flat()
}

async function checkHost(installation: Installation, host: Host): Promise<readonly CheckDocument[]> {
  const known = await readKnownNames(installation.databases.control, host.id)
  const present = await readPresent(installation, host.id)
  return [
    compare(`host ${host.name}: databases`, known.databases, present.databases),
    checkClosed(
      `host ${host.name}: connections of tenants`,
      present.closed.filter((name) => known.databases.includes(name)),
    ),
    compare(`host ${host.name}: roles`, known.roles, present.roles, known.spareRoles),
  ]
}

/** `closed`: databases that take no connections. */
type PresentNames = TenantNames & Readonly<{ closed: readonly string[] }>

async function readPresent({ databases, namespace }: Installation, hostId: number): Promise<PresentNames> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rows } = await session.query<PresentNames>(
      `select array(select datname::text from pg_catalog.pg_database where datname ~ $1) as databases,
         array(select rolname::text from pg_catalog.pg_roles where rolname ~ $2) as roles,
         array(select datname::text from pg_catalog.pg_database
           where datname ~ $1 and (not datallowconn or datconnlimit in (0, -2)) order by datname) as closed`,
      [tenantDatabasePattern(namespace), tenantRolePattern(namespace)],
    )
    return rows[0]!
  })
}

/** By ALLOW_CONNECTIONS, by a CONNECTION LIMIT of 0, or after a DROP DATABASE that was cut off, which leaves -2. */
function checkClosed(name: string, closed: readonly string[]): CheckDocument {
  if (closed.length === 0)
    return { name, status: 'ok', advice: 'Every database of a tenant takes connections' }
  const advice = `These take none, so their users get 503: ${some(closed)}. Run alter database NAME with allow_connections true connection limit -1; one that a DROP DATABASE left half-way must be restored from a backup`
  return { name, status: 'fail', advice }
}

function compare(
  name: string,
  known: readonly string[],
  present: readonly string[],
  mayBePresent: readonly string[] = [],
): CheckDocument {
  const there = new Set(present)
  const expected = new Set([...known, ...mayBePresent])
  const missing = known.filter((each) => !there.has(each))
  const surplus = present.filter((each) => !expected.has(each))
  if (missing.length > 0) {
    return { name, status: 'fail', advice: `Missing: ${some(missing)}. Restore them from a backup` }
  }
  if (surplus.length > 0) {
    const advice = `Belonging to no account: ${some(surplus)}. Left by a restore or a killed process; drop them while no accounts are being created`
    return { name, status: 'warn', advice }
  }
  return { name, status: 'ok', advice: `${present.length}, all known` }
}

function some(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
}
