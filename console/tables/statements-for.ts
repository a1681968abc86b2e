import { shownName } from '../api/sql.ts'
import { shownTable, type Table, type TableColumn } from '../api/tables.ts'

/** Statements for a table, to be edited before they are run. */
export function statementsFor(table: Table, columns: readonly TableColumn[]) {
  const name = shownTable(table)
  const kind = table.kind.toUpperCase()
  const list = columns.map((column) => shownName(column.name)).join(', ')
  return {
    select: `SELECT ${list || '*'}\nFROM ${name}\nLIMIT 1000`,
    createIndex: `CREATE INDEX ON ${name} (column_name)`,
    alter: `ALTER ${kind} ${name} ADD COLUMN column_name text`,
    drop: `DROP ${kind} ${name}`,
  }
}
