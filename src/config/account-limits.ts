import type { AccountLimit, EndpointGroup, SetLimits } from '../contract/admin-names.ts'
import { defaultSchedules } from '../contract/limits.ts'
import type { Config } from './config.ts'
import { parseRate, type Rate } from './config-variables.ts'
import { variables } from './known-variables.ts'

/** A limit of an account, and who sets it, in words. */
export type Limit = Readonly<{ value: number; source: string }>

/** The only place that tells which limit holds: what the operator has set for the account or its plan, else the configured one. */
export function limitOf(config: Config, set: SetLimits, name: AccountLimit): Limit {
  const value = set[name]
  if (value !== undefined) return { value, source: `${name} of the account` }
  if (name === 'schedules') return { value: defaultSchedules, source: 'the default' }
  const variable = configured[name]
  return { value: config[variable], source: variables[variable].name }
}

/** Null: none. */
export function rateOf(config: Config, { rates }: SetLimits, group: EndpointGroup): Rate | null {
  const parsed = parseRate(rates?.[group])
  return parsed === undefined ? config[configuredRates[group]] : parsed
}

const configured = {
  query_timeout_ms: 'queryTimeoutMs',
  job_timeout_ms: 'jobTimeoutMs',
  copy_timeout_ms: 'copyTimeoutMs',
  jobs_at_once: 'jobsPerUser',
  jobs_queued: 'jobQueueLimit',
  connections: 'connectionsPerAccount',
  imports_at_once: 'importsPerUser',
  tiles_at_once: 'tilesPerAccount',
} as const satisfies Record<Exclude<AccountLimit, 'schedules'>, keyof Config>

const configuredRates = {
  keys: 'rateLimitKeys',
  jobs: 'rateLimitJobs',
  jobs_read: 'rateLimitJobsRead',
  imports: 'rateLimitImports',
  copyfrom: 'rateLimitCopyfrom',
  copyto: 'rateLimitCopyto',
  sql: 'rateLimitSql',
  tables: 'rateLimitTables',
  tile: 'rateLimitTile',
  map: 'rateLimitMap',
  named: 'rateLimitNamed',
  dataview: 'rateLimitDataview',
} as const satisfies Record<EndpointGroup, keyof Config>
