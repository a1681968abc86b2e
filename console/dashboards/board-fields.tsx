import { dashboardNameRule, isDashboardName } from '../../src/contract/dashboards.ts'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { refreshOptions } from '../result/shown-dashboard/shown-dashboard.tsx'
import { boardNameOf, type DashboardDraft } from './dashboard-draft.ts'

type BoardFieldsProps = Readonly<{
  draft: DashboardDraft
  change: (some: Partial<DashboardDraft>) => void
  isNew: boolean
}>

/** What a dashboard is called, and how often it is read again. */
export function BoardFields({ draft, change, isNew }: BoardFieldsProps) {
  const { name, title, description, refresh_seconds: seconds } = draft
  const isOwnName = name !== boardNameOf(title)
  const problem = name !== '' && !isDashboardName(name) ? `A name has ${dashboardNameRule}.` : undefined
  return (
    <section class="panel board-fields" aria-label="About the dashboard">
      <Field label="Title">
        {(given) => (
          <input
            {...given}
            maxLength={200}
            value={title}
            onInput={({ currentTarget: { value } }) =>
              change({ title: value, ...(isNew && !isOwnName && { name: boardNameOf(value) }) })
            }
          />
        )}
      </Field>
      {isNew && (
        <Field label="Name" help="In its address. It stays." problem={problem}>
          {(given) => (
            <input
              {...given}
              maxLength={128}
              value={name}
              onInput={(event) => change({ name: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <Field label="Description">
        {(given) => (
          <input
            {...given}
            maxLength={4_000}
            value={description}
            onInput={(event) => change({ description: event.currentTarget.value })}
          />
        )}
      </Field>
      <SelectField
        label="Read again"
        value={seconds === null ? '' : String(seconds)}
        options={refreshOptions(seconds)}
        choose={(value) => change({ refresh_seconds: value === '' ? null : Number(value) })}
      />
    </section>
  )
}
