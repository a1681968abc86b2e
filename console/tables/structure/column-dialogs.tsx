import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Table, TableColumn } from '../../api/tables.ts'
import { ChangeDialog, CheckLine, TextLine } from './change-dialog.tsx'
import { Dependents, useDependents } from './dependents.tsx'
import {
  addColumn,
  changeColumn,
  dropColumn,
  offeredTypes,
  usualCast,
  type WantedColumn,
} from './structure-sql.ts'

type DialogProps = Readonly<{ table: Table; close: () => void; done: () => void }>
type ColumnProps = DialogProps & Readonly<{ column: TableColumn }>

export function AddColumn({ table, ...dialog }: DialogProps) {
  const [wanted, want] = useState<WantedColumn>(newColumn)
  const isReady = wanted.name.trim() !== '' && wanted.type.trim() !== ''
  return (
    <ChangeDialog
      title="Add a column"
      act="Add column"
      sql={isReady ? addColumn(table, wanted) : ''}
      {...dialog}
    >
      <ColumnFields wanted={wanted} want={want} />
    </ChangeDialog>
  )
}

const newColumn: WantedColumn = {
  name: '',
  type: 'text',
  isNullable: true,
  fallback: '',
  comment: '',
  using: '',
}

export function ChangeColumn({ table, column, ...dialog }: ColumnProps) {
  const [wanted, want] = useState<WantedColumn>({
    ...column,
    fallback: column.fallback ?? '',
    comment: column.comment ?? '',
    using: '',
  })
  const isRetyped = wanted.type.trim() !== column.type
  const isReady = wanted.name.trim() !== '' && wanted.type.trim() !== ''
  const sql = isReady ? changeColumn(table, column, wanted) : ''
  return (
    <ChangeDialog
      title={`Change column ${column.name}`}
      act="Change column"
      sql={sql}
      isLong={isRetyped}
      {...dialog}
    >
      <ColumnFields wanted={wanted} want={want}>
        {isRetyped && (
          <TextLine
            label="Old values become (USING)"
            help={`An expression. Left empty: ${usualCast(column.name, wanted.type)}. All rows are written again.`}
            value={wanted.using}
            change={(using) => want({ ...wanted, using })}
          />
        )}
      </ColumnFields>
    </ChangeDialog>
  )
}

type FieldsProps = Readonly<{
  wanted: WantedColumn
  want: (wanted: WantedColumn) => void
  children?: ComponentChildren
}>

function ColumnFields({ wanted, want, children }: FieldsProps) {
  return (
    <>
      <TextLine label="Name" value={wanted.name} change={(name) => want({ ...wanted, name })} />
      <TextLine
        label="Type"
        help="One of the list, or any type of the database."
        value={wanted.type}
        list={offeredTypes}
        change={(type) => want({ ...wanted, type })}
      />
      {children}
      <TextLine
        label="Default"
        help="An expression, such as 'none' or pg_catalog.now(). Empty: no default."
        value={wanted.fallback}
        change={(fallback) => want({ ...wanted, fallback })}
      />
      <CheckLine
        label="NOT NULL: every row must have a value"
        isOn={!wanted.isNullable}
        turn={(isOn) => want({ ...wanted, isNullable: !isOn })}
      />
      <TextLine label="Comment" value={wanted.comment} change={(comment) => want({ ...wanted, comment })} />
    </>
  )
}

export function DropColumn({ table, column, ...dialog }: ColumnProps) {
  const [isCascading, cascade] = useState(false)
  const from = useDependents(table, column.name)
  return (
    <ChangeDialog
      title={`Drop column ${column.name}?`}
      act="Drop column"
      isDanger
      sql={from.value ? dropColumn(table, column.name, isCascading) : ''}
      {...dialog}
    >
      <p>The values of this column are lost in all rows. This cannot be undone.</p>
      <Dependents from={from} what="this column" isCascading={isCascading} cascade={cascade} />
    </ChangeDialog>
  )
}
