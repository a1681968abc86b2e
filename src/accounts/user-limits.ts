import { parseRate } from '../config/config-variables.ts'
import { endpointGroups } from '../contract/admin-names.ts'
import { maxSchedules } from '../contract/limits.ts'
import { errors } from '../errors.ts'

/**
 * `{"rate": {"<endpoint group>": "100/60+20"}, "schedules": 250}`: changes of a user's own limits, in place of the configured
 * ones. Null removes one.
 */
export function checkLimits(limits: Readonly<Record<string, unknown>> | undefined): void {
  if (limits === undefined) return
  refuseUnknown('limits', limits, ['rate', 'schedules'])
  checkSchedules(limits.schedules)
  const { rate } = limits
  if (rate === undefined || rate === null) return
  if (typeof rate !== 'object' || Array.isArray(rate)) {
    throw errors.accountInvalid('limits.rate must be an object, or null for the configured ones')
  }
  refuseUnknown('limits.rate', rate, endpointGroups)
  for (const [group, text] of Object.entries(rate)) {
    if (text !== null && (typeof text !== 'string' || parseRate(text) === undefined)) {
      throw errors.accountInvalid(
        `limits.rate.${group} must be 'off', 'COUNT/SECONDS' or 'COUNT/SECONDS+BURST', such as '100/60+20', or null`,
      )
    }
  }
}

function checkSchedules(most: unknown): void {
  if (most === undefined || most === null) return
  const isWhole = typeof most === 'number' && Number.isInteger(most)
  if (!(isWhole && most >= 0 && most <= maxSchedules))
    throw errors.accountInvalid(`limits.schedules must be a whole number from 0 to ${maxSchedules}, or null`)
}

function refuseUnknown(place: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw errors.accountInvalid(`${place} has no member '${unknown[0]}'; known: ${known.join(', ')}`)
  }
}
