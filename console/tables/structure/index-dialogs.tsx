import { useState } from 'preact/hooks'
import type { Table, TableColumn, TableRule } from '../../api/tables.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { ChangeDialog, CheckLine } from './change-dialog.tsx'
import { createIndex, dropConstraint, dropIndex, indexMethods, methodFor } from './structure-sql.ts'

type CreateProps = Readonly<{
  table: Table
  columns: readonly TableColumn[]
  /** Chosen at first. */
  first?: string
  close: () => void
  done: () => void
}>

/** PostgreSQL's limit of columns in an index. */
const mostColumns = 32
const mostOffered = 200

export function CreateIndex({ table, columns, first, ...dialog }: CreateProps) {
  const typeOf = (name: string | undefined) => columns.find((column) => column.name === name)?.type ?? ''
  const [chosen, choose] = useState<readonly string[]>(first === undefined ? [] : [first])
  const [method, setMethod] = useState<(typeof indexMethods)[number]>(methodFor(typeOf(first)))
  const [isUnique, setUnique] = useState(false)
  const turn = (name: string, isOn: boolean) => {
    const next = isOn ? [...chosen, name] : chosen.filter((each) => each !== name)
    choose(next)
    if (next.length === 1) setMethod(methodFor(typeOf(next[0])))
  }
  const isReady = chosen.length > 0 && chosen.length <= mostColumns
  const wanted = { columns: chosen, method, isUnique: isUnique && method === 'btree' }
  return (
    <ChangeDialog
      title="Create an index"
      act="Create index"
      sql={isReady ? createIndex(table, wanted) : ''}
      isLong
      {...dialog}
    >
      <p>
        An index makes filters and sorting by its columns fast. Rows cannot be changed while it is created.
      </p>
      <fieldset class="index-columns">
        <legend>Columns, in the order in which you choose them</legend>
        {columns.slice(0, mostOffered).map(({ name }) => (
          <CheckLine key={name} label={name} isOn={chosen.includes(name)} turn={(isOn) => turn(name, isOn)} />
        ))}
      </fieldset>
      <SelectField
        label="Method"
        help="btree for =, < and sorting; gist for geometries; gin for JSON and arrays; brin for large tables in the order of the column."
        options={indexMethods}
        value={method}
        choose={setMethod}
      />
      {method === 'btree' && (
        <CheckLine label="UNIQUE: no two rows have the same values" isOn={isUnique} turn={setUnique} />
      )}
    </ChangeDialog>
  )
}

type DropProps = Readonly<{ table: Table; rule: TableRule; close: () => void; done: () => void }>

export function DropRule({ table, rule, ...dialog }: DropProps) {
  const isIndex = rule.kind === 'index'
  const sql = isIndex ? dropIndex(table, rule.name) : dropConstraint(table, rule.name)
  return (
    <ChangeDialog title={`Drop ${rule.kind} ${rule.name}?`} act="Drop" isDanger sql={sql} {...dialog}>
      <p>
        {isIndex
          ? 'No row is lost. Filters and sorting that used the index become slower.'
          : 'No row is lost. The database no longer checks this rule.'}
      </p>
    </ChangeDialog>
  )
}
