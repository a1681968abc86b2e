import type { Config } from '../config/config.ts'
import type { CheckDocument } from '../contract/documents.ts'
import { hostRole, type Replication } from '../hosts/host-role.ts'
import { countDatabases } from '../hosts/host-store.ts'
import type { Installation } from '../hosts/installation.ts'
import { controlOnlyAdvice } from '../hosts/prepare-hosts.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { oldestSupportedMajor } from '../postgres/cluster/find-binaries.ts'
import { connectionBudget } from '../postgres/databases.ts'
import { addressOf, type Host } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isDiskFull } from '../postgres/sqlstate.ts'
import { isStandby, standbyRefused } from '../postgres/wire/standby.ts'
import { checkConnect, checkPressure, checkSafety } from './check-safety.ts'

/** For every host: does it answer, is it primary, new enough and durable, and does it allow our connections. */
export async function checkHosts(
  installation: Installation,
  config: Config,
  processes: number,
): Promise<readonly CheckDocument[]> {
  const { control, hosts } = installation.databases
  const checks = await Promise.all(
    hosts.all().map((host) => checkHost(installation, config, host, processes)),
  )
  const unread = (await countDatabases(control)).filter(({ id }) => !hosts.has(id))
  return [...checks.flat(), ...unread.map(({ name }) => unreadCheck(name))]
}

function unreadCheck(name: string): CheckDocument {
  const advice = `The address of this host cannot be read here, as a file that it names is missing (see the log): its users get 503. Put the file there, or give another address (cartage host add ${name})`
  return { name: `host ${name}`, status: 'fail', advice }
}

async function checkHost(
  installation: Installation,
  config: Config,
  host: Host,
  processes: number,
): Promise<readonly CheckDocument[]> {
  try {
    const checks = await answerWithin(patienceMs, examineHost(installation, config, host.id, processes))
    return checks.map((check) => ({ ...check, name: `host ${host.name}: ${check.name}` }))
  } catch (error) {
    if (isStandby(error)) return [standbyCheck(host)]
    const cause = ((error as Error).cause ?? error) as Error
    const { message } = cause
    if (isDiskFull(cause)) {
      const advice = `The disk of ${addressOf(host)} is full: ${message}. Make room there`
      return [{ name: `host ${host.name}: disk`, status: 'fail', advice }]
    }
    const advice = `${addressOf(host)} does not answer: ${message}. Its users get 503 and their jobs wait`
    return [{ name: `host ${host.name}`, status: 'fail', advice }]
  }
}

function standbyCheck(host: Host): CheckDocument {
  const advice = `${addressOf(host)} is a standby and takes no writes. Its users get 503 and their jobs wait until it is promoted, or until it has the address of the primary (cartage host add ${host.name})`
  return { name: `host ${host.name}: role`, status: 'fail', advice }
}

async function examineHost(
  installation: Installation,
  config: Config,
  hostId: number,
  processes: number,
): Promise<readonly CheckDocument[]> {
  const role = await hostRole(installation.databases, hostId)
  if (role.role === 'standby') throw standbyRefused()
  const state = await readState(installation, hostId)
  const isControlOnly = installation.databases.hosts.isControlOnly(hostId)
  const wanted = connectionBudget(config, hostId, isControlOnly) * processes
  const others: readonly CheckDocument[] = [
    checkVersion(state),
    checkDurability(state),
    checkConnections(state, wanted, processes),
    checkClock(state),
  ]
  const primary: CheckDocument = { name: 'role', status: 'ok', advice: 'primary' }
  if (isControlOnly)
    return [primary, ...(await checkControlOnly(installation, hostId, role.replication)), ...others]
  const safety = await checkSafety(installation, hostId)
  return [primary, checkReplication(role.replication), checkPostgis(state), ...others, ...safety]
}

/** A server without tenants, where we are no superuser and may not see everything. */
async function checkControlOnly(
  installation: Installation,
  hostId: number,
  replication: Replication,
): Promise<readonly CheckDocument[]> {
  const { admin, hosts, namespace } = installation.databases
  const { rows } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ isMonitor: boolean; login: string; isOpen: boolean }>(
      `select pg_catalog.pg_has_role('pg_monitor', 'usage') as "isMonitor", current_user::text as login,
         pg_catalog.has_database_privilege('public', $1, 'connect') as "isOpen"`,
      [namespace],
    ),
  )
  const { isMonitor, login, isOpen } = rows[0]!
  const advice = `The role ${login} does not see the standbys of this server, so moves to another host cannot wait for them: grant pg_monitor to it`
  return [
    isMonitor ? checkReplication(replication) : { name: 'replication', status: 'warn', advice },
    { name: 'users', status: hosts.forTenants().length > 0 ? 'ok' : 'warn', advice: controlOnlyAdvice },
    checkConnect(isOpen ? [namespace] : []),
    ...(await checkPressure(installation, hostId)),
  ]
}

type HostState = Readonly<{
  version: number
  postgis: string | null
  settings: Readonly<Record<string, string>>
  /** How far its clock is ahead of ours. */
  skewMs: number
}>

async function readState({ databases }: Installation, hostId: number): Promise<HostState> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rows: facts } = await session.query<Omit<HostState, 'skewMs'>>(
      `select pg_catalog.current_setting('server_version_num')::integer as version,
         (select default_version from pg_catalog.pg_available_extensions where name = 'postgis') as postgis,
         (select pg_catalog.json_object_agg(name, setting) from pg_catalog.pg_settings where name = any($1)) as settings`,
      [settingNames],
    )
    const before = Date.now()
    const { rows } = await session.query<{ now: string }>(
      "select pg_catalog.extract('epoch', clock_timestamp()) * 1000 as now",
    )
    const middle = (before + Date.now()) / 2
    return { ...facts[0]!, skewMs: Math.round(Number(rows[0]!.now) - middle) }
  })
}

const durable = ['fsync', 'full_page_writes', 'synchronous_commit']
const settingNames = [...durable, 'max_connections', 'superuser_reserved_connections']

function checkVersion({ version }: HostState): CheckDocument {
  const major = Math.floor(version / 10_000)
  if (major >= oldestSupportedMajor) return { name: 'version', status: 'ok', advice: `PostgreSQL ${major}` }
  const advice = `PostgreSQL ${major} is too old: upgrade to ${oldestSupportedMajor} or later`
  return { name: 'version', status: 'fail', advice }
}

function checkPostgis({ postgis }: HostState): CheckDocument {
  return postgis
    ? { name: 'PostGIS', status: 'ok', advice: `PostGIS ${postgis}` }
    : { name: 'PostGIS', status: 'fail', advice: 'PostGIS is not installed: no account can be created there' }
}

/** Without these settings a crash of the server can lose or damage what was reported as done. */
function checkDurability({ settings }: HostState): CheckDocument {
  const off = durable.filter((name) => settings[name] === 'off')
  if (off.length === 0) return { name: 'durability', status: 'ok', advice: `${durable.join(', ')} are on` }
  const advice = `${off.join(', ')} off: after a crash, jobs reported as done may be undone. Switch them on`
  return { name: 'durability', status: off.includes('fsync') ? 'fail' : 'warn', advice }
}

function checkReplication({
  standbys,
  synchronous,
  isSynchronous,
  lagBytes,
  lagMs,
}: Replication): CheckDocument {
  const name = 'replication'
  if (isSynchronous && synchronous === 0) {
    const advice =
      'synchronous_standby_names is set and no such standby is connected: every commit waits. Start one, or empty the setting'
    return { name, status: 'fail', advice }
  }
  if (standbys === 0) return { name, status: 'ok', advice: 'no standby is connected' }
  const behind = `${Math.round((lagBytes ?? 0) / 1024 ** 2)} MiB and ${Math.round(lagMs ?? 0)} ms behind`
  const seen = `${standbys} standbys, ${synchronous} of them synchronous; the slowest is ${behind}`
  if ((lagBytes ?? 0) < farBehindBytes) return { name, status: 'ok', advice: seen }
  const advice = `${seen}: a fail-over to it now would lose these changes, or take long`
  return { name, status: 'warn', advice }
}

/** A standby usually catches up with less in some seconds. */
const farBehindBytes = 256 * 1024 ** 2

function checkConnections({ settings }: HostState, wanted: number, processes: number): CheckDocument {
  const room = Number(settings.max_connections) - Number(settings.superuser_reserved_connections)
  const budget = `${processes} processes may open ${wanted} connections, the host allows ${room}`
  if (wanted <= room) return { name: 'connections', status: 'ok', advice: budget }
  const advice = `${budget}; each lowered its limits to what was free when it started: raise max_connections, or lower CARTAGE_CONNECTIONS_PER_HOST, CARTAGE_COPIES_PER_PROCESS, CARTAGE_SESSION_CONNECTIONS_PER_HOST, CARTAGE_TILES_PER_HOST or CARTAGE_JOBS_PER_WORKER`
  return { name: 'connections', status: 'warn', advice }
}

function checkClock({ skewMs }: HostState): CheckDocument {
  const seen = `its clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead'}`
  if (Math.abs(skewMs) < 1_000) return { name: 'clock', status: 'ok', advice: seen }
  return { name: 'clock', status: 'warn', advice: `${seen}: set both machines to the same time server` }
}

/** An operator waits for the answer: a slower host counts as silent. */
export const patienceMs = 5_000
