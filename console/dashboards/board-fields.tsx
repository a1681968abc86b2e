import { dashboardNameRule, isDashboardName } from '../../src/contract/dashboards.ts'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { refreshOptions } from '../result/shown-dashboard/shown-dashboard.tsx'
import { boardNameOf, type DashboardDraft } from './dashboard-draft.ts'

type BoardFieldsProps = Readonly<{
  draft: DashboardDraft
  change: (some: Partial<DashboardDraft>) => void
  isNew: boolean
  /** Another dashboard has this name. */
  isTaken: boolean
}>

/** The name of a dashboard, and how often it is read again. */
export function BoardFields({ draft, change, isNew, isTaken }: BoardFieldsProps) {
  const { name, title, description, refresh_seconds: seconds } = draft
  const isOwnName = name !== boardNameOf(title)
  const problem = isTaken ? `A dashboard ${name} exists. Choose another name.` : problemOf(name)
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
        <Field label="Name" help="Part of its address. It cannot be changed later." problem={problem}>
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

const problemOf = (name: string) =>
  name !== '' && !isDashboardName(name) ? `A name has ${dashboardNameRule}.` : undefined
