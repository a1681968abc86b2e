import type { Config } from '../config/config.ts'
import { variables } from '../config/known-variables.ts'
import type { TimeLimit, TimeLimits } from './time-limits.ts'

type LimitName = 'queryTimeoutMs' | 'copyTimeoutMs' | 'anonymousCopyTimeoutMs'

export function copyLimits(config: Config): Readonly<{ limit: TimeLimit; anonymousLimit: TimeLimit }> {
  const limit = limitOf(config, 'copyTimeoutMs')
  const anonymous = limitOf(config, 'anonymousCopyTimeoutMs')
  return { limit, anonymousLimit: anonymous.ms < limit.ms ? anonymous : limit }
}

type QueryLimits = Required<TimeLimits>

/** A query that sends rows may last as long as a copy. */
export function queryLimits(config: Config): Readonly<{ limits: QueryLimits; anonymousLimits: QueryLimits }> {
  const silence = limitOf(config, 'queryTimeoutMs')
  const { limit, anonymousLimit } = copyLimits(config)
  const longer = (whole: TimeLimit) => ({ whole: whole.ms > silence.ms ? whole : silence, silence })
  return { limits: longer(limit), anonymousLimits: longer(anonymousLimit) }
}

/** Of our own queries on a tenant's catalogs. */
export const catalogLimits = (config: Config): TimeLimits => ({ whole: limitOf(config, 'queryTimeoutMs') })

const limitOf = (config: Config, name: LimitName): TimeLimit => ({
  ms: config[name],
  variable: variables[name].name,
})
