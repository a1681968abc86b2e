import { AppError, errors } from '../errors.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { oldestSupportedMajor } from '../postgres/cluster/find-binaries.ts'
import { isControlDatabase } from '../postgres/control/control-database.ts'
import type { Databases } from '../postgres/databases.ts'
import { addressOf, type Host } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { templateName } from '../postgres/tenant-names.ts'
import { isStandby } from '../postgres/wire/standby.ts'
import { countDatabases } from './host-store.ts'

/**
 * Checks that we are superuser on a host, that its cluster is not another host or another installation, and that a
 * known host has its databases. `expected`: undefined if the host is new.
 */
export async function checkCluster(
  databases: Databases,
  host: Host,
  expected: readonly string[] | undefined,
): Promise<void> {
  const cluster = await answerOf(databases, host)
  if (!cluster.isSuperuser) throw errors.hostInvalid(`${host.adminRole} is not a superuser there`)
  if (cluster.version < oldestSupportedMajor * 10_000)
    throw errors.hostInvalid(`PostgreSQL there is older than version ${oldestSupportedMajor}`)
  if (!cluster.hasPostgis) throw errors.hostInvalid('PostGIS is not installed there')
  await checkOthers(databases, cluster, host, expected === undefined)
  if (cluster.databases.includes(databases.namespace) && (await isControlDatabase(databases, host.id)))
    throw errors.hostInvalid(
      `This cluster already has another installation '${databases.namespace}': give one of them another CARTAGE_NAMESPACE`,
    )
  const missing = (expected ?? []).filter((name) => !cluster.databases.includes(name))
  if (missing.length > 0)
    throw errors.hostInvalid(`Databases of '${host.name}' are missing in this cluster, such as ${missing[0]}`)
}

/** A server that cannot be used is the fault of the address, not of this service: it says which and why. */
async function answerOf(databases: Databases, host: Host): Promise<Cluster> {
  return describeCluster(databases, host.id).catch((error: unknown) => {
    if (isStandby(error))
      throw errors.hostInvalid(`${addressOf(host)} is a standby: give the address of its primary`)
    if (!(error instanceof AppError)) throw error
    if (error.code === 'not-superuser') throw errors.hostInvalid(`${host.adminRole} is not a superuser there`)
    if (error.code === 'database-unavailable')
      throw errors.hostInvalid(`${addressOf(host)} cannot be used: ${reasonOf(error.cause ?? error)}`)
    throw error
  })
}

/** Node's error of a server with several addresses has a code, and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || code || 'it does not answer'
}

/**
 * No other host may be the same cluster. One that does not answer, or whose address this process cannot read, cannot be
 * compared, but a new cluster without our databases is not it. The new address of a known host is not held up: it may be
 * needed just then.
 */
async function checkOthers(
  databases: Databases,
  { identifier, databases: names }: Cluster,
  { id }: Host,
  isNew: boolean,
): Promise<void> {
  const others = await askOthers(databases, id)
  const same = others.find(({ cluster }) => cluster?.identifier === identifier)
  if (same) throw errors.hostInvalid(`This cluster is the host '${same.name}' already`)
  const silent = others.find(({ cluster }) => !cluster)
  const { namespace } = databases
  if (isNew && silent && [namespace, templateName(namespace)].some((name) => names.includes(name)))
    throw errors.hostInvalid(
      `${silent.isRead ? `The host '${silent.name}' does not answer` : `The address of the host '${silent.name}' cannot be read here (see the log)`}, and this cluster has a database of this installation, so it may be that host: try again when that host answers`,
    )
}

/**
 * The name of another registered host that is the same cluster, or may be, as it cannot be asked. What is on the cluster
 * may then be in use.
 */
export async function possibleTwin(databases: Databases, hostId: number): Promise<string | undefined> {
  const [{ identifier }, others] = await Promise.all([
    describeCluster(databases, hostId),
    askOthers(databases, hostId),
  ])
  return others.find(({ cluster }) => !cluster || cluster.identifier === identifier)?.name
}

/** `cluster` is undefined if the host does not answer. One whose address this process cannot read is not asked. */
type AskedHost = Readonly<{ name: string; isRead: boolean; cluster: Cluster | undefined }>

/** All others that the control database has, known to this process or not. */
async function askOthers(databases: Databases, hostId: number): Promise<readonly AskedHost[]> {
  const { control, hosts } = databases
  const others = (await countDatabases(control)).filter(({ id }) => id !== hostId)
  const ask = (id: number) => describeCluster(databases, id).catch(() => undefined)
  return Promise.all(
    others.map(async ({ id, name }) => {
      const isRead = hosts.has(id)
      return { name, isRead, cluster: isRead ? await ask(id) : undefined }
    }),
  )
}

type Cluster = Readonly<{
  identifier: string
  version: number
  isSuperuser: boolean
  hasPostgis: boolean
  databases: readonly string[]
}>

async function describeCluster({ admin, hosts }: Databases, hostId: number): Promise<Cluster> {
  const answer = admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rows } = await session.query<Cluster>(
      `select (select system_identifier::text from pg_catalog.pg_control_system()) as identifier,
         pg_catalog.current_setting('server_version_num')::integer as version,
         (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser",
         exists (select from pg_catalog.pg_available_extensions where name = 'postgis') as "hasPostgis",
         array(select datname::text from pg_catalog.pg_database) as databases`,
    )
    return rows[0]!
  })
  return answerWithin(answerMs, answer)
}

/** With the login. A server that is silent for so long is no place for users. */
const answerMs = 10_000
