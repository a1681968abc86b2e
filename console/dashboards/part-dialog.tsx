import { useState } from 'preact/hooks'
import type { DashboardDocument } from '../../src/contract/dashboards.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { Dialog } from '../parts/controls/dialog.tsx'
import { DialogActs } from '../parts/controls/dialog-acts.tsx'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { Empty } from '../parts/notice.tsx'
import { fittingChoices, kindLabels, type PartChoices } from './dashboard-draft.ts'

type PartDialogProps = Readonly<{
  /** Undefined: a new part. */
  choices: PartChoices | undefined
  queries: DashboardDocument['queries']
  done: (choices: PartChoices) => void
  close: () => void
}>

/** Which query a part shows, and how. */
export function PartDialog({ choices, queries, done, close }: PartDialogProps) {
  const names = Object.keys(queries)
  const known = choices && !names.includes(choices.query) ? [choices.query, ...names] : names
  const isNew = choices === undefined
  return (
    <Dialog title={isNew ? 'Add a saved query' : 'Edit the part'} onClose={close}>
      {known.length === 0 ? (
        <Empty>
          <span>
            No saved queries yet. Save one on the <a href={hrefOf('/sql')}>SQL page</a> with Ctrl+S.
          </span>
        </Empty>
      ) : (
        <PartForm
          initial={choices ?? { query: known[0]!, as: 'table' }}
          names={known}
          act={isNew ? 'Add' : 'Apply'}
          done={done}
          close={close}
        />
      )}
    </Dialog>
  )
}

type PartFormProps = Readonly<{
  initial: PartChoices
  names: readonly string[]
  act: string
  done: (choices: PartChoices) => void
  close: () => void
}>

function PartForm({ initial, names, act, done, close }: PartFormProps) {
  const [choices, setChoices] = useState(initial)
  const change = (part: Partial<PartChoices>) => setChoices({ ...choices, ...part })
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        done(fittingChoices(choices))
      }}
    >
      <SelectField
        label="Saved query"
        value={choices.query}
        options={names}
        choose={(query) => change({ query })}
      />
      <SelectField label="Shown as" value={choices.as} options={kindLabels} choose={(as) => change({ as })} />
      <Field label="Title" help="Empty: the name of the query.">
        {(given) => (
          <input
            {...given}
            maxLength={200}
            value={choices.title ?? ''}
            onInput={(event) => change({ title: event.currentTarget.value })}
          />
        )}
      </Field>
      {choices.as === 'number' && (
        <Field label="Column" help="Of the first row. Empty: the first column.">
          {(given) => (
            <input
              {...given}
              maxLength={63}
              value={choices.column ?? ''}
              onInput={(event) => change({ column: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      <DialogActs act={act} close={close} />
    </form>
  )
}
