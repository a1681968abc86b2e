import { setTimeout as sleep } from 'node:timers/promises'
import type { CheckDocument } from '../contract/documents.ts'
import type { Installation } from '../hosts/installation.ts'
import { type HostPressure, hostPressure } from '../postgres/host-pressure.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { tenantRolePattern } from '../postgres/tenant-names.ts'

/** What a host leaves open to callers with arbitrary SQL, and which shared resources they have used up. */
export async function checkSafety(
  installation: Installation,
  hostId: number,
): Promise<readonly CheckDocument[]> {
  const openings = await readOpenings(installation, hostId)
  if (openings.open.length > 0) await sleep(momentMs)
  const { open: stillOpen } = await readOpenings(installation, hostId)
  return [
    checkLogins(openings),
    checkPasswords(openings),
    // A database that is being created is open for a moment.
    checkConnect(openings.open.filter((name) => stillOpen.includes(name))),
    checkPrepared(openings),
    ...(await checkPressure(installation, hostId)),
  ]
}

/** Which shared resources of a server are used up. */
export async function checkPressure(
  { databases }: Installation,
  hostId: number,
): Promise<readonly CheckDocument[]> {
  const pressure = await hostPressure(databases, hostId)
  return [checkNotifyQueue(pressure), checkXids(pressure), checkSnapshots(pressure)]
}

type Openings = Readonly<{
  /** Lines of pg_hba.conf, by authentication method. */
  trusting: readonly number[]
  inClear: readonly number[]
  md5: readonly number[]
  unreadable: readonly number[]
  encryption: string
  weakRoles: number
  /** Databases that PUBLIC may connect to. */
  open: readonly string[]
  mostPrepared: number
}>

async function readOpenings({ databases, namespace }: Installation, hostId: number): Promise<Openings> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rows } = await session.query<Openings>(
      `with rules as (select line_number, auth_method, error from pg_catalog.pg_hba_file_rules
         where not coalesce(database = '{replication}', false))
       select array(select line_number from rules where auth_method = 'trust') as trusting,
         array(select line_number from rules
           where auth_method in ('password', 'ldap', 'pam', 'bsd', 'radius')) as "inClear",
         array(select line_number from rules where auth_method = 'md5') as md5,
         array(select line_number from rules where error is not null) as unreadable,
         pg_catalog.current_setting('password_encryption') as encryption,
         (select count(*)::integer from pg_catalog.pg_authid
           where rolname ~ $1 and rolpassword !~ '^SCRAM-SHA-256\\$') as "weakRoles",
         array(select datname::text from pg_catalog.pg_database where datallowconn
           and pg_catalog.has_database_privilege('public', oid, 'connect') order by datname) as open,
         pg_catalog.current_setting('max_prepared_transactions')::integer as "mostPrepared"`,
      [tenantRolePattern(namespace)],
    )
    return rows[0]!
  })
}

function checkLogins({ trusting, inClear, md5, unreadable }: Openings): CheckDocument {
  const name = 'logins'
  const lines = (numbers: readonly number[]) => `pg_hba.conf line ${numbers.join(', ')}`
  if (unreadable.length > 0) {
    return {
      name,
      status: 'warn',
      advice: `${lines(unreadable)} cannot be read: correct it, then pg_reload_conf()`,
    }
  }
  if (trusting.length > 0) {
    const advice = `${lines(trusting)} allows logins without a password: set scram-sha-256`
    return { name, status: 'warn', advice }
  }
  if (inClear.length > 0) {
    const advice = `${lines(inClear)} asks for passwords in clear, which the service does not send: set scram-sha-256`
    return { name, status: 'warn', advice }
  }
  if (md5.length > 0) {
    return { name, status: 'warn', advice: `${lines(md5)} accepts MD5 hashes: set scram-sha-256` }
  }
  return { name, status: 'ok', advice: 'Every login needs a password, and proves it by SCRAM' }
}

function checkPasswords({ encryption, weakRoles }: Openings): CheckDocument {
  const name = 'passwords'
  if (weakRoles > 0) {
    const advice = `${weakRoles} roles of tenants have a password without SCRAM, set by the tenant; it is replaced at the next login of the role`
    return { name, status: 'warn', advice }
  }
  if (encryption !== 'scram-sha-256') {
    const advice = `password_encryption is ${encryption}: set scram-sha-256`
    return { name, status: 'warn', advice }
  }
  return { name, status: 'ok', advice: 'Passwords are stored as SCRAM verifiers' }
}

/** A tenant can give its role a password, and then log in directly wherever PUBLIC may connect. */
export function checkConnect(open: readonly string[]): CheckDocument {
  if (open.length === 0) {
    return { name: 'connect', status: 'ok', advice: 'PUBLIC may connect to no database' }
  }
  const advice = `PUBLIC, and so every tenant, may connect to ${open.join(', ')}: revoke connect on database ... from public`
  return { name: 'connect', status: 'warn', advice }
}

/**
 * PostgreSQL lets every role prepare transactions, which keep their locks after the session has ended. Then there is no
 * session that could be ended.
 */
function checkPrepared({ mostPrepared }: Openings): CheckDocument {
  const name = 'prepared transactions'
  if (mostPrepared === 0) return { name, status: 'ok', advice: 'Transactions cannot be prepared' }
  const advice = `max_prepared_transactions is ${mostPrepared}: any caller, even without a key, can leave prepared transactions, which keep their locks. Set 0, and check pg_prepared_xacts`
  return { name, status: 'warn', advice }
}

function checkNotifyQueue({ notifyQueue }: HostPressure): CheckDocument {
  const seen = `the notification queue is ${Math.round(100 * notifyQueue)} % full`
  if (notifyQueue < 0.25) return { name: 'notifications', status: 'ok', advice: seen }
  const advice = `${seen}: a listening session is in a long transaction; end the oldest (pg_stat_activity, xact_start). Meanwhile the service polls`
  return { name: 'notifications', status: 'warn', advice }
}

function checkXids({ xidAge }: HostPressure): CheckDocument {
  const seen = `the oldest transaction id is ${millions(xidAge)} old`
  if (xidAge < 1_000_000_000) return { name: 'transaction ids', status: 'ok', advice: seen }
  const advice = `${seen}, and at 2,147 million PostgreSQL stops: end long transactions, then vacuum freeze the database with the greatest age(datfrozenxid)`
  return { name: 'transaction ids', status: xidAge < 1_600_000_000 ? 'warn' : 'fail', advice }
}

function checkSnapshots({ snapshotSeconds, snapshotAge }: HostPressure): CheckDocument {
  const seen = `the oldest snapshot is ${Math.round(snapshotSeconds)} s old, ${millions(snapshotAge)} transactions back`
  if (snapshotAge < 100_000_000) return { name: 'snapshots', status: 'ok', advice: seen }
  const advice = `${seen}: VACUUM cannot remove rows that it still sees; end its session`
  return { name: 'snapshots', status: 'warn', advice }
}

const momentMs = 1_000
const millions = (count: number) => `${Math.round(count / 1e6)} million`
