import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import type { CheckDocument } from '../contract/documents.ts'
import type { HeldLimit } from '../contract/usage-names.ts'
import type { Installation } from '../hosts/installation.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'
import { patienceMs } from './check-hosts.ts'
import { fullQueues, quotaDatabases, type RefusedUser, refusedUsers } from './doctor-store.ts'

/** Tells who is at a limit. */
export async function checkLimits(
  installation: Installation,
  config: Config,
): Promise<readonly CheckDocument[]> {
  const checks = [checkQuotas(installation), checkQueues(installation, config), checkRefusals(installation)]
  return (await Promise.all(checks)).flat()
}

/** Processes store refusals once a minute, so the last minute may be missing. */
async function checkRefusals({ databases }: Installation): Promise<readonly CheckDocument[]> {
  const refused = await refusedUsers(databases.control)
  const of = (limit: HeldLimit) => refused.filter((user) => user.limit === limit)
  const rates = refused.filter(({ limit }) => limit.startsWith('rates.'))
  return [
    refusalCheck('connections', of('connections'), 'Raise connections with cartage user set'),
    refusalCheck('tiles at once', of('tiles_at_once'), 'Raise tiles_at_once with cartage user set'),
    refusalCheck('rates', rates, 'Raise a rate with cartage user set NAME --rate'),
  ]
}

function refusalCheck(what: string, refused: readonly RefusedUser[], remedy: string): CheckDocument {
  const name = `limits: ${what}`
  if (refused.length === 0)
    return { name, status: 'ok', advice: 'No request was refused for it in the last 24 hours' }
  const told = refused.map(({ username, limit, requests }) => `${username} (${requests}${groupOf(limit)})`)
  const advice = `Requests refused for it in the last 24 hours: ${some(told)}. ${remedy}`
  return { name, status: 'warn', advice }
}

async function checkQueues({ databases }: Installation, config: Config): Promise<CheckDocument> {
  const name = 'limits: jobs queued'
  const full = await fullQueues(databases.control, limitOf(config, {}, 'jobs_queued').value)
  if (full.length === 0)
    return { name, status: 'ok', advice: 'No user has as many jobs queued as it may have' }
  const told = full.map(({ username, jobs, most }) => `${username} (${jobs} of ${most})`)
  const advice = `As many jobs queued as they may have: ${some(told)}. Raise jobs_queued or jobs_at_once with cartage user set`
  return { name, status: 'warn', advice }
}

async function checkQuotas({ databases }: Installation): Promise<CheckDocument> {
  const name = 'limits: quota'
  const places = await quotaDatabases(databases.control)
  const found: NearQuota[] = []
  const left = [...places]
  const look = async () => {
    for (let place = left.pop(); place; place = left.pop())
      found.push(...(await nearQuota(databases, place).catch(() => [])))
  }
  // A few at once. Another check reports a host that does not answer.
  await answerWithin(patienceMs, Promise.all([look(), look(), look()])).catch(() => undefined)
  const unseen = left.splice(0).length
  const notAll = unseen > 0 ? `; ${unseen} of ${places.length} databases were not looked at in time` : ''
  if (found.length === 0)
    return { name, status: 'ok', advice: `No user has stored 90 % of its quota${notAll}` }
  const told = found.map(({ username, percent }) => `${username} (${percent} %)`)
  const advice = `Near their quota: ${some(told)}. Raise it with cartage user set NAME --quota${notAll}`
  return { name, status: 'warn', advice }
}

type NearQuota = Readonly<{ username: string; percent: number }>

async function nearQuota(
  { admin, hosts }: Installation['databases'],
  { hostId, database }: TenantDatabase,
): Promise<readonly NearQuota[]> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<NearQuota>(
      `select username, pg_catalog.floor(100.0 * used / quota_in_bytes)::pg_catalog.int4 as percent
       from cartage.accounts cross join lateral cartage.data_size(username) used
       where quota_in_bytes > 0 and used >= 0.9 * quota_in_bytes order by username`,
    ),
  )
  return rows
}

/** `rates.sql without a key` is told as ` of sql without a key`. */
const groupOf = (limit: string) => (limit.startsWith('rates.') ? ` of ${limit.slice('rates.'.length)}` : '')

const some = (names: readonly string[]) =>
  names.slice(0, 10).join(', ') + (names.length > 10 ? ' and others' : '')
