import {
  type AccountLimit,
  accountLimitNames,
  endpointGroups,
  type SetLimits,
} from '../../../src/contract/admin-names.ts'
import type { EffectiveLimits, LimitChanges } from '../../../src/contract/documents.ts'
import { TextField } from '../text-field.tsx'

type Texts = Readonly<Record<string, string>>
export type LimitTexts = Readonly<{ numbers: Texts; rates: Texts }>

type FieldsProps = Readonly<{
  texts: LimitTexts
  change: (texts: LimitTexts) => void
  /** The limits in effect where a field is empty. */
  effective?: EffectiveLimits
  /** What an empty field means. */
  empty: string
}>

/** A field for each limit of a user or a plan. */
export function LimitFields({ texts, change, effective, empty }: FieldsProps) {
  const { numbers, rates } = texts
  return (
    <>
      <p class="muted">Empty: {empty}.</p>
      <div class="form-grid">
        {accountLimitNames.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            placeholder={effective ? String(effective[name]) : ''}
            value={numbers[name] ?? ''}
            change={(text) => change({ rates, numbers: { ...numbers, [name]: text } })}
          />
        ))}
      </div>
      <h3>Rate limits</h3>
      <p class="muted">
        100/60: 100 requests in 60 seconds. 100/60+20: at most 20 of them at once. off: no limit. Empty:{' '}
        {empty}.
      </p>
      <div class="form-grid">
        {endpointGroups.map((group) => (
          <TextField
            key={group}
            label={group}
            placeholder={effective?.rates[group] ?? ''}
            value={rates[group] ?? ''}
            change={(text) => change({ numbers, rates: { ...rates, [group]: text } })}
          />
        ))}
      </div>
    </>
  )
}

const labels: Readonly<Record<AccountLimit, string>> = {
  query_timeout_ms: 'Time of a statement (ms)',
  job_timeout_ms: 'Time of a statement of a job (ms)',
  copy_timeout_ms: 'Time of a copy (ms)',
  jobs_at_once: 'Jobs at once',
  jobs_queued: 'Jobs queued',
  connections: 'Connections of a process',
  imports_at_once: 'Imports at once',
  tiles_at_once: 'Tiles at once of a process',
  schedules: 'Maximum schedules',
}

/** The limits as the fields show them. */
export const textsOf = ({ rates = {}, ...numbers }: SetLimits): LimitTexts => ({
  numbers: Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)])),
  rates,
})

/** Null removes an empty one. Throws if a number is invalid. */
export function limitsFrom({ numbers, rates }: LimitTexts): LimitChanges {
  const given = Object.entries(rates).map(([group, text]) => [group, text.trim()] as const)
  return {
    ...Object.fromEntries(
      accountLimitNames.map((name) => [name, readNumber(numbers[name] ?? '', labels[name])]),
    ),
    rates: Object.fromEntries(given.map(([group, text]) => [group, text === '' ? null : text])),
  }
}

export function readNumber(text: string, what: string): number | null {
  if (text.trim() === '') return null
  if (/^\d{1,10}$/.test(text.trim())) return Number(text)
  throw new Error(`${what}: “${text}” is not a whole number.`)
}
