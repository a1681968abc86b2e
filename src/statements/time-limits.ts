import type { Principal } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { variables } from '../config/known-variables.ts'
import type { SetLimits } from '../contract/admin-names.ts'
import { type AppError, errors } from '../errors.ts'
import { remembered } from '../remembered.ts'

/** A time limit, and what sets it: a variable, or the limits of the account. */
export type TimeLimit = Readonly<{ ms: number; source: string }>

export type TimeLimits = Readonly<{
  /** From the start to the end, whether PostgreSQL or the client is slow. */
  whole: TimeLimit
  /** Until the first row, and from one row to the next, while PostgreSQL works. */
  silence?: TimeLimit
}>

/** Measures how long we wait for the client, not how long the client waits for us. */
export type ClientWait = Readonly<{
  /** `onTooLong` is called if the client does nothing for too long. */
  begin: (onTooLong: (idleMs: number) => void) => void
  end: () => void
}>

/** The time limits of callers, by the limits of their accounts. */
export type LimitsOf<Limits extends TimeLimits = TimeLimits> = (caller: Caller) => Limits

type Caller = Pick<Principal, 'account' | 'key'>

export function copyLimits(config: Config): LimitsOf {
  return ofCaller((set, isAnonymous) => ({ whole: copyLimit(config, set, isAnonymous) }))
}

/** A query that sends rows may last as long as a copy. */
export function queryLimits(config: Config): LimitsOf<Required<TimeLimits>> {
  return ofCaller((set, isAnonymous) => {
    const silence = timeOf(config, set, 'query_timeout_ms')
    const whole = copyLimit(config, set, isAnonymous)
    return { whole: whole.ms > silence.ms ? whole : silence, silence }
  })
}

/** The limits of the service's own queries on a tenant's catalogs. */
export function catalogLimits(config: Config, { account }: Pick<Caller, 'account'>): TimeLimits {
  return { whole: timeOf(config, account.setLimits, 'query_timeout_ms') }
}

function copyLimit(config: Config, set: SetLimits, isAnonymous: boolean): TimeLimit {
  const limit = timeOf(config, set, 'copy_timeout_ms')
  const ms = config.anonymousCopyTimeoutMs
  return isAnonymous && ms < limit.ms ? { ms, source: variables.anonymousCopyTimeoutMs.name } : limit
}

function timeOf(config: Config, set: SetLimits, name: 'query_timeout_ms' | 'copy_timeout_ms'): TimeLimit {
  const { value: ms, source } = limitOf(config, set, name)
  return { ms, source }
}

/** Computed once for each account that is cached. */
function ofCaller<Limits extends TimeLimits>(
  make: (set: SetLimits, isAnonymous: boolean) => Limits,
): LimitsOf<Limits> {
  const anonymous = remembered((set: SetLimits) => make(set, true))
  const known = remembered((set: SetLimits) => make(set, false))
  return ({ account, key }) => (key.type === 'default' ? anonymous : known)(account.setLimits)
}

export const wholeTimeout = ({ ms, source }: TimeLimit): AppError =>
  errors.statementTimeout(`${inWords(ms)} for the whole statement (${source})`)

export const silenceTimeout = ({ ms, source }: TimeLimit): AppError =>
  errors.statementTimeout(`${inWords(ms)} without a row (${source})`)

function inWords(ms: number): string {
  const [unit, length] = units.find(([, unitMs]) => ms % unitMs === 0)!
  return `${ms / length} ${unit}`
}

const units = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const
