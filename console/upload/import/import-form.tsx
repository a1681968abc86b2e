import { useState } from 'preact/hooks'
import type { ImportOptions } from '../../../src/client/api/imports-api.ts'
import type { CollisionStrategy } from '../../../src/contract/import-names.ts'
import { Field } from '../../parts/controls/field.tsx'
import { SelectField } from '../../parts/controls/select-field.tsx'

type FormProps = Readonly<{
  isOneFile: boolean
  act: string
  /** Nothing is chosen that could be imported. */
  isEmpty: boolean
  start: (options: ImportOptions) => void
}>

/** What to do with files that the service imports. */
export function ImportForm({ isOneFile, act, isEmpty, start }: FormProps) {
  const [table, setTable] = useState('')
  const [collision, setCollision] = useState<CollisionStrategy | ''>('')
  const [key, setKey] = useState('')
  const [skipsBad, setSkipsBad] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    start({
      ...(table.trim() && { table_name: table.trim() }),
      ...(collision && { collision_strategy: collision }),
      ...(collision === 'upsert' && { key }),
      ...(skipsBad && { on_error: 'skip', rejects: 'all' }),
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <div class="form-row">
        {isOneFile && <TextField label="Table name" example="as the file" value={table} change={setTable} />}
        <SelectField label="If the table exists" value={collision} choose={setCollision} options={choices} />
        {collision === 'upsert' && (
          <TextField label="Key columns" example="id" value={key} change={setKey} isRequired />
        )}
        <label class="check">
          <input type="checkbox" checked={skipsBad} onChange={() => setSkipsBad(!skipsBad)} />
          Leave out bad rows
        </label>
      </div>
      <div class="row">
        <button type="submit" class="primary" disabled={isEmpty}>
          {act}
        </button>
        <span class="muted">
          {isEmpty
            ? 'Choose at least one layer.'
            : 'All tables of a file appear at once. Geometry is stored in longitude and latitude.'}
        </span>
      </div>
    </form>
  )
}

type TextProps = Readonly<{
  label: string
  example: string
  value: string
  change: (value: string) => void
  isRequired?: boolean
}>

function TextField({ label, example, value, change, isRequired = false }: TextProps) {
  return (
    <Field label={label}>
      {(props) => (
        <input
          {...props}
          value={value}
          required={isRequired}
          placeholder={example}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

const choices: readonly (readonly [CollisionStrategy | '', string])[] = [
  ['', 'Choose another name'],
  ['skip', 'Do nothing'],
  ['overwrite', 'Replace its rows'],
  ['append', 'Add the rows'],
  ['upsert', 'Update rows with the same key'],
]
