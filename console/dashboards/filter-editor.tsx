import {
  type DashboardDocument,
  type DashboardFilter,
  type FilterValue,
  maxDashboardFilters,
} from '../../src/contract/dashboards.ts'
import { filterTypes } from '../../src/contract/saved-queries.ts'
import { Field } from '../parts/controls/field.tsx'
import { Menu } from '../parts/controls/menu.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { type DashboardDraft, filterFor, freeParams } from './dashboard-draft.ts'

type FilterEditorProps = Readonly<{
  draft: DashboardDraft
  queries: DashboardDocument['queries']
  change: (filters: readonly DashboardFilter[]) => void
}>

/** The filters of a dashboard, each for a parameter of its queries. */
export function FilterEditor({ draft, queries, change }: FilterEditorProps) {
  const { filters } = draft
  const free = filters.length < maxDashboardFilters ? freeParams(draft, queries) : []
  return (
    <section class="panel stack" aria-label="Filters of the dashboard">
      <div class="row">
        <h2 class="grow">Filters</h2>
        {free.length > 0 && (
          <Menu
            label="Add filter"
            items={free.map((param) => ({
              label: param,
              run: () => change([...filters, filterFor(param, draft, queries)]),
            }))}
          />
        )}
      </div>
      {filters.length === 0 && (
        <p class="muted">
          {free.length > 0
            ? 'No filters. A filter sets a parameter of the queries.'
            : 'No filters. The queries of the parts have no parameters to set.'}
        </p>
      )}
      {filters.map((filter) => (
        <FilterForm
          key={filter.param}
          filter={filter}
          change={(next) => change(filters.map((each) => (each.param === filter.param ? next : each)))}
          remove={() => change(filters.filter(({ param }) => param !== filter.param))}
        />
      ))}
    </section>
  )
}

type FilterFormProps = Readonly<{
  filter: DashboardFilter
  change: (filter: DashboardFilter) => void
  remove: () => void
}>

function FilterForm({ filter, change, remove }: FilterFormProps) {
  const { param, label, type, default: value, options } = filter
  const text = value === undefined ? '' : String(value)
  return (
    <fieldset class="filter-form">
      <legend>
        <code>:{param}</code>
      </legend>
      <Field label="Label">
        {(given) => (
          <input
            {...given}
            maxLength={200}
            value={label}
            onInput={(event) => change({ ...filter, label: event.currentTarget.value })}
          />
        )}
      </Field>
      <SelectField
        label="Type"
        value={type}
        options={filterTypes}
        choose={(next) => change(withValues({ param, label, type: next }, text, options))}
      />
      <Field label="First value" help="Empty: the default of the query.">
        {(given) => (
          <input
            {...given}
            maxLength={1_000}
            value={text}
            onChange={(event) => change(withValues(filter, event.currentTarget.value, options))}
          />
        )}
      </Field>
      <Field label="Values to choose" help="One a line. Empty: any.">
        {(given) => (
          <textarea
            {...given}
            rows={2}
            value={options?.join('\n') ?? ''}
            onChange={(event) => change(withValues(filter, text, event.currentTarget.value.split('\n')))}
          />
        )}
      </Field>
      <button type="button" onClick={remove} aria-label={`Remove the filter ${param}`}>
        Remove
      </button>
    </fieldset>
  )
}

/** The filter with other values, without empty ones. */
function withValues(
  { param, label, type }: DashboardFilter,
  text: string,
  options: readonly FilterValue[] | undefined,
): DashboardFilter {
  const all = [...new Set((options ?? []).map((each) => String(each).trim()))].filter((each) => each !== '')
  const typed = (each: string): FilterValue =>
    type === 'boolean' && /^(true|false)$/.test(each) ? each === 'true' : each
  return {
    param,
    label,
    type,
    ...(text !== '' && { default: typed(text) }),
    ...(all.length > 0 && { options: all.map(typed) }),
  }
}
