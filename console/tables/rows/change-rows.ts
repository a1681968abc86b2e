import { changeBySql, readRows } from '../../api/sql.ts'
import type { Table, TableColumn } from '../../api/tables.ts'
import type { Result } from '../../result/result.ts'
import {
  type RowStatement,
  type RowVersion,
  selectCell,
  selectNow,
  versionColumns,
  versionOf,
} from './change-sql.ts'

/** Why no row of a table can be changed on its page; undefined if some can. */
export function whyReadOnly({
  kind,
  isOfAnother,
  canUpdate,
  canInsert,
  canDelete,
}: Table): string | undefined {
  if (isOfAnother)
    return 'Read-only here: it belongs to another user, whose triggers would run with your rights.'
  if (kind !== 'table') return `Read-only here: it is a ${kind}.`
  if (!canUpdate && !canInsert && !canDelete) return 'Read-only: this key has no right to change rows.'
  const missing = [canUpdate ? [] : 'UPDATE', canInsert ? [] : 'INSERT', canDelete ? [] : 'DELETE'].flat()
  return missing.length > 0 ? `This key has no right to ${missing.join(' and ')}.` : undefined
}

/** The result of a table that can be changed has the versions of its rows as its last columns. */
export const hasVersions = ({ kind, isOfAnother, canUpdate, canInsert, canDelete }: Table) =>
  kind === 'table' && !isOfAnother && (canUpdate || canInsert || canDelete)

/** The versions of some rows of a result, the last one included. */
export async function versionsOf(
  result: Result,
  top: number,
  bottom: number,
): Promise<readonly RowVersion[]> {
  const left = result.progress.peek().columns.length
  const right = left + versionColumns.length - 1
  return (await result.ask('whole', { top, bottom, left, right })).map(versionOf)
}

const readVersion = (row: RowVersion) => versionOf(versionColumns.map((name) => row[name]))

/** `version`: undefined if it is not known. */
export type Changed = Readonly<{ rows: number; version: RowVersion | undefined }>

export async function runStatement({ text, params }: RowStatement): Promise<Changed> {
  const answer = await changeBySql<RowVersion>(text, params.length > 0 ? { params } : {})
  const [row] = answer.rows
  return { rows: answer.total_rows, version: row && readVersion(row) }
}

/** A cell as it was read. `exact` is the text from which PostgreSQL makes the same value again. */
export type ReadCell = Readonly<{ value: string | null; exact: string | null; key: readonly string[] }>

/** Undefined if the row has changed or is gone. */
export async function readCell(
  table: Table,
  column: TableColumn,
  version: RowVersion,
  signal: AbortSignal,
): Promise<ReadCell | undefined> {
  const { text, params } = selectCell(table, column, version)
  return (await readRows<ReadCell>(text, { params, signal }))[0]
}

/** The content of a cell after another person changed its row. */
export type CellNow =
  | Readonly<{ kind: 'unknown' }>
  | Readonly<{ kind: 'gone' }>
  | Readonly<{ kind: 'there'; value: string | null; exact: string | null; version: RowVersion }>

/** Without a primary key the row can no longer be found. */
export async function readNow(table: Table, column: TableColumn, key: readonly string[]): Promise<CellNow> {
  if (key.length === 0) return { kind: 'unknown' }
  const { text, params } = selectNow(table, column, key)
  type Row = RowVersion & Readonly<{ value: string | null; exact: string | null }>
  const [row] = await readRows<Row>(text, { params })
  if (!row) return { kind: 'gone' }
  const { value, exact } = row
  return { kind: 'there', value, exact, version: readVersion(row) }
}
