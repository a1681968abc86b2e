import type { Principal } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { variables } from '../config/known-variables.ts'
import type { SetLimits } from '../contract/admin-names.ts'
import { remembered } from '../remembered.ts'
import type { TimeLimit, TimeLimits } from './time-limits.ts'

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
