import { parseRate } from '../../config/config-variables.ts'
import {
  accountLimitNames,
  accountLimits,
  endpointGroups,
  type SetLimits,
} from '../../contract/admin-names.ts'
import { errors } from '../../errors.ts'

/** Limits to change: what is left out stays, null removes a limit. */
export type GivenLimits = Readonly<Record<string, unknown>>

/**
 * `{"query_timeout_ms": 60000, "rates": {"<endpoint group>": "100/60+20"}}`. Returns the changes with the name `rates`, which was
 * `rate` in 0.1.0.
 */
export function readLimits(limits: GivenLimits): GivenLimits {
  const { rate, ...known } = limits
  if (rate !== undefined && known.rates !== undefined)
    throw errors.accountInvalid('limits.rate is the former name of limits.rates: give only one of the two')
  const changes = rate === undefined ? known : { ...known, rates: rate }
  refuseUnknown('limits', changes, [...accountLimitNames, 'rates'])
  for (const name of accountLimitNames) checkNumber(name, changes[name])
  checkRates(changes.rates)
  return changes
}

/** The limits of a new plan, which has none that null could remove. */
export function readNewLimits(limits: GivenLimits): SetLimits {
  const { rates, ...numbers } = readLimits(limits)
  const set = withoutNulls(numbers)
  return rates ? { ...set, rates: withoutNulls(rates) } : set
}

const withoutNulls = (object: object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))

function checkNumber(name: (typeof accountLimitNames)[number], value: unknown): void {
  if (value === undefined || value === null) return
  const { least, most } = accountLimits[name]
  if (!(typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most))
    throw errors.accountInvalid(`limits.${name} must be a whole number from ${least} to ${most}, or null`)
}

function checkRates(rates: unknown): void {
  if (rates === undefined || rates === null) return
  if (typeof rates !== 'object' || Array.isArray(rates))
    throw errors.accountInvalid('limits.rates must be an object, or null to remove all of them')
  refuseUnknown('limits.rates', rates, endpointGroups)
  for (const [group, text] of Object.entries(rates)) {
    if (text !== null && (typeof text !== 'string' || parseRate(text) === undefined)) {
      throw errors.accountInvalid(
        `limits.rates.${group} must be 'off', 'COUNT/SECONDS' or 'COUNT/SECONDS+BURST', such as '100/60+20', or null`,
      )
    }
  }
}

function refuseUnknown(place: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw errors.accountInvalid(`${place} has no member '${unknown[0]}'; known: ${known.join(', ')}`)
  }
}
