import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import { oldestSupportedMajor } from '../postgres/cluster/find-binaries.ts'
import { isControlDatabase } from '../postgres/control/control-database.ts'
import { addressOf, type Host, hostFromUrl } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { isStandby } from '../postgres/wire/standby.ts'
import { findHost, nextHostId, saveHost } from './host-store.ts'
import type { Installation } from './installation.ts'
import { prepareHost } from './prepare-hosts.ts'

/**
 * Registers a PostgreSQL cluster for tenants, or gives a known one a new address, after preparing it. When this
 * returns, every process knows it and new accounts may be placed there.
 */
export async function addHost(installation: Installation, name: string, url: string): Promise<Host> {
  checkHost(name, url)
  const { hosts, control } = installation.databases
  const known = await findHost(control, name)
  const host = hostFromUrl(known?.id ?? (await nextHostId(control)), name, url)
  const before = hosts.has(host.id) ? hosts.get(host.id) : undefined
  hosts.register(host)
  try {
    await checkCluster(installation, host, known?.databases ?? [])
    await prepareHost(installation, host.id)
  } catch (error) {
    if (before) hosts.register(before)
    else hosts.forget(host.id)
    throw error
  }
  await keepHost(installation, host, url)
  await awaitCaches(control, installation.log)
  return host
}

function checkHost(name: string, url: string): void {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    throw errors.hostInvalid('The name of a host must be 1 to 63 lower-case letters, digits or hyphens')
  }
  if (name === 'local') throw errors.hostInvalid("The host 'local' comes from the configuration")
  if (!/^postgres(ql)?:\/\/./.test(url)) throw errors.hostInvalid('The address must begin with postgres://')
}

/**
 * Checks that we are superuser there, that the cluster is not another host or another installation, and that a known
 * host has its databases.
 */
async function checkCluster(
  installation: Installation,
  host: Host,
  expected: readonly string[],
): Promise<void> {
  const { databases } = installation
  const cluster = await describeCluster(installation, host.id).catch((error: unknown) => {
    if (isStandby(error))
      throw errors.hostInvalid(`${addressOf(host)} is a standby: give the address of its primary`)
    throw error
  })
  if (!cluster.isSuperuser) throw errors.hostInvalid(`${host.adminRole} is not a superuser there`)
  if (cluster.version < oldestSupportedMajor * 10_000) {
    throw errors.hostInvalid(`PostgreSQL there is older than version ${oldestSupportedMajor}`)
  }
  if (!cluster.hasPostgis) throw errors.hostInvalid('PostGIS is not installed there')
  for (const other of databases.hosts.all()) {
    if (other.id === host.id) continue
    const known = await describeCluster(installation, other.id).catch(() => undefined)
    if (known?.identifier === cluster.identifier) {
      throw errors.hostInvalid(`This cluster is the host '${other.name}' already`)
    }
  }
  if (cluster.databases.includes(databases.namespace) && (await isControlDatabase(databases, host.id))) {
    throw errors.hostInvalid(
      `This cluster already has another installation '${databases.namespace}': give one of them another CARTAGE_NAMESPACE`,
    )
  }
  const missing = expected.filter((name) => !cluster.databases.includes(name))
  if (missing.length > 0) {
    throw errors.hostInvalid(`Databases of '${host.name}' are missing in this cluster, such as ${missing[0]}`)
  }
}

type Cluster = Readonly<{
  identifier: string
  version: number
  isSuperuser: boolean
  hasPostgis: boolean
  databases: readonly string[]
}>

async function describeCluster({ databases }: Installation, hostId: number): Promise<Cluster> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rows } = await session.query<Cluster>(
      `select (select system_identifier::text from pg_catalog.pg_control_system()) as identifier,
         pg_catalog.current_setting('server_version_num')::integer as version,
         (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser",
         exists (select from pg_catalog.pg_available_extensions where name = 'postgis') as "hasPostgis",
         array(select datname::text from pg_catalog.pg_database) as databases`,
    )
    return rows[0]!
  })
}

async function keepHost({ databases, secrets }: Installation, host: Host, url: string): Promise<void> {
  await inTransaction(databases.control, async (tx) => {
    await saveHost(tx, { id: host.id, name: host.name, sealedUrl: secrets.seal(url) })
    await recordAudit(tx, {
      actor: operator,
      action: 'host.added',
      subject: host.name,
      details: { address: addressOf(host) },
    })
    await announceChange(tx)
  })
}
