import type { DashboardFilter } from '../../../src/contract/dashboards.ts'
import type { FilterType } from '../../../src/contract/saved-queries.ts'
import { Field, type FieldProps } from '../../parts/controls/field.tsx'
import type { FilterTexts } from './read-part.ts'

type FilterFieldsProps = Readonly<{
  filters: readonly DashboardFilter[]
  texts: FilterTexts
  change: (texts: FilterTexts) => void
}>

/** The initial values of a dashboard's filters. */
export const defaultTexts = (filters: readonly DashboardFilter[]): FilterTexts =>
  Object.fromEntries(filters.map(({ param, default: value }) => [param, String(value ?? '')]))

/** A field for each filter. A typed value counts when the field is left, or with Enter. */
export function FilterFields({ filters, texts, change }: FilterFieldsProps) {
  if (filters.length === 0) return null
  return (
    <form class="dashboard-filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {filters.map((filter) => (
        <Field key={filter.param} label={filter.label}>
          {(given) => (
            <FilterInput
              filter={filter}
              given={given}
              text={texts[filter.param] ?? ''}
              change={(text) => change({ ...texts, [filter.param]: text })}
            />
          )}
        </Field>
      ))}
    </form>
  )
}

type InputProps = Readonly<{
  filter: DashboardFilter
  given: FieldProps
  text: string
  change: (text: string) => void
}>

function FilterInput({ filter: { type, options, default: value }, given, text, change }: InputProps) {
  const choices = options ?? (type === 'boolean' ? [true, false] : undefined)
  if (choices) {
    const texts = [...new Set(choices.map(String))]
    return (
      <select {...given} value={text} onChange={(event) => change(event.currentTarget.value)}>
        {['', ...texts, ...(text === '' || texts.includes(text) ? [] : [text])].map((each) => (
          <option key={each} value={each}>
            {each === '' ? 'default of the query' : each}
          </option>
        ))}
      </select>
    )
  }
  return (
    <input
      {...given}
      {...inputOf(type, String(value ?? ''), text)}
      autocomplete="off"
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  )
}

/** An input for the type of the value, if it can show the current values: `today` is a date too. */
function inputOf(type: FilterType, ...values: readonly string[]) {
  const known = inputs[type]
  return known && values.every((value) => value === '' || known.form.test(value))
    ? known.attributes
    : { type: 'text' }
}

const decimal = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const whole = { form: /^-?\d+$/, attributes: { type: 'number', step: '1' } }
const fraction = { form: decimal, attributes: { type: 'number', step: 'any' } }
const time = { form: /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/, attributes: { type: 'datetime-local' } }
const inputs: Partial<Record<FilterType, { form: RegExp; attributes: Readonly<Record<string, string>> }>> = {
  integer: whole,
  bigint: whole,
  numeric: fraction,
  double: fraction,
  date: { form: /^\d{4}-\d\d-\d\d$/, attributes: { type: 'date' } },
  timestamp: time,
}
