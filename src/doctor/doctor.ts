import { type AuditSink, countEndings, heldAutovacuum, unshipped } from '../audit/audit-store.ts'
import { countProcesses } from '../auth/lease-store.ts'
import { newestTokens, type SealedToken } from '../auth/token-store.ts'
import type { Config } from '../config/config.ts'
import type { CheckDocument } from '../contract/documents.ts'
import { describeConverter, openConverter } from '../convert/converter.ts'
import { laggingDatabases } from '../hosts/database-store.ts'
import type { Installation } from '../hosts/installation.ts'
import { newestOf } from '../hosts/tenant-databases.ts'
import type { Secrets } from '../secrets.ts'
import { checkDisks } from './check-disk.ts'
import { checkHosts } from './check-hosts.ts'
import { checkLimits } from './check-limits.ts'
import { checkOrphans } from './check-orphans.ts'
import { readUnfinishedNames } from './doctor-store.ts'

/** Checks a running installation, and says what to do about the findings. Changes nothing. */
export async function doctor(installation: Installation, config: Config): Promise<readonly CheckDocument[]> {
  const processes = await countProcesses(installation.databases.control)
  const groups = await Promise.all([
    checkDisks(installation, config),
    checkSecret(installation),
    checkMigrations(installation),
    checkUnfinished(installation),
    checkGuard(installation),
    checkShipping(installation, 'file', config.auditFile),
    checkShipping(installation, 'syslog', config.auditSyslog),
    checkAutovacuum(installation),
    checkHosts(installation, config, Math.max(processes, 1)),
    checkOrphans(installation),
    checkImports(config),
    checkLimits(installation, config),
  ])
  return [checkNode(), checkProcesses(processes), ...groups.flat()]
}

/** On the machine where it runs. */
async function checkImports({ importSandbox }: Config): Promise<CheckDocument> {
  const limits = { timeMs: 0, cpuSeconds: 0, memoryBytes: 0, fileBytes: 0 }
  const state = await openConverter(importSandbox === 'none', limits)
  const isFine = !('missing' in state) && state.sandbox !== 'none'
  return {
    name: 'imports',
    status: isFine ? 'ok' : 'warn',
    advice: `Files are read by ${describeConverter(state)}`,
  }
}

function checkNode(): CheckDocument {
  const major = Number(process.versions.node.split('.')[0])
  return major >= 20
    ? { name: 'node', status: 'ok', advice: `Node ${process.versions.node}` }
    : {
        name: 'node',
        status: 'fail',
        advice: `Node ${process.versions.node} is too old: install 20 or later`,
      }
}

function checkProcesses(processes: number): CheckDocument {
  const name = 'processes'
  if (processes > 0) return { name, status: 'ok', advice: `${processes} running on this installation` }
  return {
    name,
    status: 'warn',
    advice: 'None is running on this installation: start one with cartage serve',
  }
}

async function checkSecret({ databases, secrets }: Installation): Promise<CheckDocument> {
  const tokens = await newestTokens(databases.control, 50)
  const unreadable = tokens.filter((token) => !isReadable(secrets, token)).length
  if (unreadable === 0)
    return { name: 'secret', status: 'ok', advice: 'The secret decrypts the stored tokens' }
  const advice = `The secret does not decrypt ${unreadable} of the ${tokens.length} newest tokens: start with the CARTAGE_SECRET that encrypted them`
  return { name: 'secret', status: 'fail', advice }
}

function isReadable(secrets: Secrets, { encrypted, hash }: SealedToken): boolean {
  try {
    return secrets.hashToken(secrets.decryptToken(encrypted)).equals(hash)
  } catch {
    return false
  }
}

async function checkMigrations({ databases, tenantMigrations }: Installation): Promise<CheckDocument> {
  const newest = newestOf(tenantMigrations)
  const { length: lagging } = await laggingDatabases(databases.control, newest)
  if (lagging === 0) return { name: 'migrations', status: 'ok', advice: `Every tenant is at ${newest}` }
  const advice = `${lagging} tenant databases are not at ${newest}: check that their host answers, then restart one process`
  return { name: 'migrations', status: 'warn', advice }
}

async function checkUnfinished({ databases }: Installation): Promise<CheckDocument> {
  const names = await readUnfinishedNames(databases.control)
  if (names.length === 0) return { name: 'accounts', status: 'ok', advice: 'No account is half-made' }
  return {
    name: 'accounts',
    status: 'warn',
    advice: `Half-made or half-removed: ${names.join(', ')}. Run cartage repair`,
  }
}

/** Tenants' statements that blocked others. */
async function checkGuard({ databases }: Installation): Promise<CheckDocument> {
  const name = 'guard'
  const { count, accounts } = await countEndings(databases.control)
  if (count === 0) return { name, status: 'ok', advice: 'No statement was ended in the last 24 hours' }
  const some = accounts.slice(0, 5).join(', ') + (accounts.length > 5 ? ' and others' : '')
  const advice = `${count} statements blocked others and were ended in the last 24 hours${some && `, of ${some}`}: cartage audit --action session.ended tells why`
  return { name, status: 'warn', advice }
}

/** Records that are not shipped after a minute. */
async function checkShipping(
  { databases }: Installation,
  sink: AuditSink,
  address: string,
): Promise<readonly CheckDocument[]> {
  if (!address) return []
  const name = `audit ${sink}`
  const { count, since, isLate } = await unshipped(databases.control, sink)
  if (!since || !isLate) return [{ name, status: 'ok', advice: `Records are sent to ${address}` }]
  const cause = sink === 'file' ? 'a full disk or missing rights' : 'a server that does not answer'
  const advice = `${count} records since ${since.toISOString()} are not sent to ${address}: look for ${cause}. They wait in the database`
  return [{ name, status: 'warn', advice }]
}

async function checkAutovacuum({ databases }: Installation): Promise<CheckDocument> {
  const name = 'autovacuum'
  const tables = await heldAutovacuum(databases.control)
  if (tables.length === 0)
    return { name, status: 'ok', advice: 'No table of an account kept it busy for long' }
  const some = tables.slice(0, 5).join(', ') + (tables.length > 5 ? ' and others' : '')
  const advice = `It took too long on these tables and was switched off for them: ${some}. Their indexes or statistics call slow functions: the owner must remove these and set autovacuum_enabled = on`
  return { name, status: 'warn', advice }
}
