import { useState } from 'preact/hooks'
import type { ImportOptions } from '../../../src/client/api/imports-api.ts'
import type { OnConflict } from '../../../src/contract/formats.ts'
import type { CollisionStrategy } from '../../../src/contract/import-names.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { TextField } from '../text-field.tsx'

type FormProps = Readonly<{
  isOneFile: boolean
  act: string
  /** Nothing to import is chosen. */
  isEmpty: boolean
  start: (options: ImportOptions) => void
}>

/** What to do with files that the service imports. */
export function ImportForm({ isOneFile, act, isEmpty, start }: FormProps) {
  const [table, setTable] = useState('')
  const [collision, setCollision] = useState<Collision>('')
  const [key, setKey] = useState('')
  const [skipsBad, setSkipsBad] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    start({
      ...(table.trim() && { table_name: table.trim() }),
      ...(isMerge(collision)
        ? { on_conflict: collision, key }
        : collision && { collision_strategy: collision }),
      ...(skipsBad && { on_error: 'skip', rejects: 'all' }),
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <div class="form-row">
        {isOneFile && <TextField label="Table name" example="as the file" value={table} change={setTable} />}
        <SelectField label="If the table exists" value={collision} choose={setCollision} options={choices} />
        {isMerge(collision) && (
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

/** What to do if the table exists. */
type Collision = Exclude<CollisionStrategy, 'upsert'> | OnConflict | ''

const isMerge = (collision: Collision): collision is OnConflict =>
  collision === 'update' || collision === 'nothing'

const choices: readonly (readonly [Collision, string])[] = [
  ['', 'Choose another name'],
  ['skip', 'Do nothing'],
  ['overwrite', 'Replace its rows'],
  ['append', 'Add the rows'],
  ['update', 'Update rows with the same key'],
  ['nothing', 'Keep rows with the same key as they are'],
]
