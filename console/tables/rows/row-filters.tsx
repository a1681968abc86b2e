import { useRef, useState } from 'preact/hooks'
import type { TableColumn } from '../../api/tables.ts'
import { useCommands } from '../../parts/commands.ts'
import { Dialog } from '../../parts/controls/dialog.tsx'
import { DialogActs } from '../../parts/controls/dialog-acts.tsx'
import { Field } from '../../parts/controls/field.tsx'
import { SelectField } from '../../parts/controls/select-field.tsx'
import {
  type FilterOperator,
  needsValue,
  operatorsFor,
  type RowFilter,
  type WantedRows,
} from './wanted-rows.ts'

type FiltersProps = Readonly<{
  columns: readonly TableColumn[]
  wanted: WantedRows
  want: (wanted: WantedRows) => void
  /** The column that a new filter is for. */
  focused: () => string | undefined
}>

/** The search field of a table: it searches all rows, on the server. */
export function TableFind({ wanted, want }: Pick<FiltersProps, 'wanted' | 'want'>) {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(wanted.find)
  useCommands([{ name: 'Find in the table', keys: '/', run: () => input.current?.focus() }])
  const change = (next: string) => {
    setText(next)
    if (next === '' && wanted.find !== '') want({ ...wanted, find: '' })
  }
  const find = (event: Event) => {
    event.preventDefault()
    if (text !== wanted.find) want({ ...wanted, find: text })
  }
  return (
    <form class="find" role="search" onSubmit={find}>
      <input
        ref={input}
        type="search"
        aria-label="Find in all rows of the table"
        placeholder="Find in all rows: Enter"
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </form>
  )
}

/** The active filters and order, each with a button to remove it, and one to add a filter. */
export function RowFilters({ columns, wanted, want, focused }: FiltersProps) {
  const [isAdding, setAdding] = useState(false)
  useCommands([{ name: 'Filter by a column', keys: 'f', run: () => setAdding(true) }])
  const add = (filter: RowFilter) => {
    setAdding(false)
    want({ ...wanted, filters: [...wanted.filters, filter] })
  }
  const { order, filters } = wanted
  return (
    <>
      {filters.map((filter) => (
        <Chip
          key={textOf(filter)}
          text={textOf(filter)}
          remove={() => want({ ...wanted, filters: filters.filter((each) => each !== filter) })}
        />
      ))}
      {order && (
        <Chip
          text={`sorted by ${order.column}${order.isDescending ? ', descending' : ''}`}
          remove={() => want({ ...wanted, order: null })}
        />
      )}
      <button type="button" title="F" disabled={columns.length === 0} onClick={() => setAdding(true)}>
        Add filter
      </button>
      {isAdding && columns.length > 0 && (
        <AddFilter columns={columns} first={focused()} add={add} close={() => setAdding(false)} />
      )}
    </>
  )
}

const textOf = ({ column, operator, value }: RowFilter) =>
  needsValue(operator) ? `${column} ${operator} ${value}` : `${column} ${operator}`

function Chip({ text, remove }: Readonly<{ text: string; remove: () => void }>) {
  return (
    <span class="chip">
      <span class="chip-text" title={text}>
        {text}
      </span>
      <button type="button" class="quiet square" aria-label={`Remove: ${text}`} onClick={remove}>
        ✕
      </button>
    </span>
  )
}

type AddProps = Readonly<{
  columns: readonly TableColumn[]
  first: string | undefined
  add: (filter: RowFilter) => void
  close: () => void
}>

function AddFilter({ columns, first, add, close }: AddProps) {
  const [column, setColumn] = useState(columns.find(({ name }) => name === first) ?? columns[0]!)
  const offered = operatorsFor(column.type)
  const [operator, setOperator] = useState<FilterOperator>(offered[0]!)
  const [value, setValue] = useState('')
  const choose = (next: TableColumn) => {
    setColumn(next)
    setOperator(operatorsFor(next.type)[0]!)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    add({ column: column.name, operator, value: needsValue(operator) ? value : '' })
  }
  return (
    <Dialog title="Filter rows" onClose={close}>
      <form class="stack" onSubmit={submit}>
        <SelectField
          label="Column"
          options={columns.map(({ name }) => name)}
          value={column.name}
          choose={(wanted) => choose(columns.find(({ name }) => name === wanted)!)}
        />
        <SelectField
          label="Condition"
          help={column.type}
          options={offered}
          value={operator}
          choose={setOperator}
        />
        {needsValue(operator) && (
          <Field label="Value">
            {(props) => (
              <input
                {...props}
                value={value}
                autocomplete="off"
                onInput={(event) => setValue(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <DialogActs act="Filter" close={close} />
      </form>
    </Dialog>
  )
}
