import { useState } from 'preact/hooks'
import { shownTable, type Table, type TableColumn } from '../../api/tables.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { LeftOut } from '../../parts/controls/filter-field.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { type Changed, runStatement } from './change-rows.ts'
import { insertRow } from './change-sql.ts'
import { submitByKey } from './submit-by-key.ts'
import { type FieldValue, problemIn, ValueField } from './value-field.tsx'

type AddProps = Readonly<{
  table: Table
  columns: readonly TableColumn[]
  close: () => void
  done: (added: Changed) => void
}>

const mostFields = 100

/** A form of all columns. A column left to its default is not in the INSERT. */
export function AddRow({ table, columns, close, done }: AddProps) {
  const offered = columns.filter(({ isGenerated }) => !isGenerated)
  const [values, setValues] = useState<ReadonlyMap<string, string | null>>(new Map())
  const { isBusy, error, begin } = useWork()
  const statement = insertRow(table, values)
  const change = (name: string, value: FieldValue) =>
    setValues((former) => {
      const next = new Map(former)
      if (value === undefined) next.delete(name)
      else next.set(name, value)
      return next
    })
  const isReady = offered.every((column) => {
    const value = values.get(column.name)
    return typeof value !== 'string' || !problemIn(column, value)
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (isReady) void begin(async () => done(await runStatement(statement)))
  }
  return (
    <Dialog title={`Add a row to ${shownTable(table)}`} onClose={close}>
      <form class="stack" onSubmit={submit} onKeyDown={submitByKey}>
        {offered.slice(0, mostFields).map((column, at) => (
          <ValueField
            key={column.name}
            column={column}
            value={values.get(column.name)}
            change={(value) => change(column.name, value)}
            hasDefault
            isFirst={at === 0}
          />
        ))}
        <LeftOut count={offered.length - mostFields} noun="column" />
        <CodeBlock label="SQL of the new row" text={statement.shown} />
        {error !== undefined && <ErrorNotice error={error} />}
        <DialogActs act="Add row" isReady={isReady && !isBusy} close={close} />
      </form>
    </Dialog>
  )
}
