import { quoteLiteral, quoteName } from '../../api/sql.ts'
import { quotedTable, type Table, type TableColumn } from '../../api/tables.ts'

/** A version of a row. Every change of the row makes another one. */
export type RowVersion = Readonly<{ ctid: string; xmin: string; tableoid: string }>

/** No column of a table can have one of these names. */
export const versionColumns = ['ctid', 'xmin', 'tableoid'] as const

export const versionOf = ([ctid, xmin, tableoid]: readonly unknown[]): RowVersion => ({
  ctid: String(ctid),
  xmin: String(xmin),
  tableoid: String(tableoid),
})

export const isSameVersion = (one: RowVersion, other: RowVersion) =>
  versionColumns.every((part) => one[part] === other[part])

/** A statement in two forms: with parameters to be sent, and with literals to be shown. */
export type RowStatement = Readonly<{ text: string; params: readonly string[]; shown: string }>

type Write = (value: string) => string

function written(build: (write: Write) => string): RowStatement {
  const params: string[] = []
  const text = build((value) => `$${params.push(value)}`)
  return { text, params, shown: build(quoteLiteral) }
}

type ChangedTable = Pick<Table, 'schema' | 'name' | 'hasParts'>

const valueOr = (value: string | null, write: Write) => (value === null ? 'NULL' : write(value))
const equals = 'OPERATOR(pg_catalog.=)'

/** Rows of two partitions can have the same ctid. */
const partsFor = ({ hasParts }: ChangedTable) => (hasParts ? versionColumns : versionColumns.slice(0, 2))

const isVersion = (table: ChangedTable, version: RowVersion, write: Write) =>
  partsFor(table)
    .map((part) => `${part} ${equals} ${write(version[part])}`)
    .join(' AND ')

/** PostgreSQL does not return the version of a row that it moved to a partition. */
const returning = ({ hasParts }: ChangedTable) => (hasParts ? '' : `\nRETURNING ${versionColumns.join(', ')}`)

/** Changes a cell, unless the row has another version by now. */
export const updateCell = (table: ChangedTable, column: string, value: string | null, version: RowVersion) =>
  written(
    (write) => `UPDATE ${quotedTable(table)}
SET ${quoteName(column)} = ${valueOr(value, write)}
WHERE ${isVersion(table, version, write)}${returning(table)}`,
  )

/** Columns without a value get their default. */
export function insertRow(table: ChangedTable, values: ReadonlyMap<string, string | null>): RowStatement {
  const names = [...values.keys()].map(quoteName).join(', ')
  return written((write) => {
    const given = [...values.values()].map((value) => valueOr(value, write)).join(', ')
    const row = values.size === 0 ? 'DEFAULT VALUES' : `(${names})\nVALUES (${given})`
    return `INSERT INTO ${quotedTable(table)} ${row}${returning(table)}`
  })
}

/** Deletes the rows, except those that have another version by now. */
export function deleteRows(table: ChangedTable, versions: readonly RowVersion[]): RowStatement {
  const parts = partsFor(table)
  const types = { ctid: 'tid', xmin: 'xid', tableoid: 'oid' }
  const listed = (part: keyof RowVersion) => `{${versions.map((version) => `"${version[part]}"`).join(',')}}`
  const alike = parts.map((part) => `t.${part} ${equals} chosen.${part}_of`).join(' AND ')
  return written((write) => {
    const lists = parts.map(
      (part) => `pg_catalog.unnest(${write(listed(part))}::pg_catalog.${types[part]}[])`,
    )
    return `DELETE FROM ${quotedTable(table)} AS t
USING ROWS FROM (${lists.join(', ')}) AS chosen (${parts.map((part) => `${part}_of`).join(', ')})
WHERE ${alike}`
  })
}

/** The text in a form. The text of a geometry is not readable. */
const formText = ({ name, type }: TableColumn) =>
  /^(geometry|geography)\b/.test(type)
    ? `postgis.st_asewkt(${quoteName(name)})`
    : `${quoteName(name)}::pg_catalog.text`

const selected = (column: TableColumn) =>
  `${formText(column)} as value, ${quoteName(column.name)}::pg_catalog.text as exact`

/** Reads a cell, and the primary key of its row, unless the row has another version by now. */
export const selectCell = (table: Table, column: TableColumn, version: RowVersion) =>
  written((write) => {
    const key = (table.primaryKey ?? []).map((name) => `${quoteName(name)}::pg_catalog.text`)
    return `select ${selected(column)}, array[${key.join(', ')}]::pg_catalog.text[] as key
from ${quotedTable(table)} where ${isVersion(table, version, write)}`
  })

/** Reads the same cell from the current row. */
export const selectNow = (table: Table, column: TableColumn, key: readonly string[]) =>
  written(
    (write) => `select ${selected(column)}, ${versionColumns.join(', ')}
from ${quotedTable(table)} where ${table.primaryKey!.map((name, at) => `${quoteName(name)} ${equals} ${write(key[at]!)}`).join(' and ')}`,
  )
