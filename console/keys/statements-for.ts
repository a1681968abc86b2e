import { shownTable } from '../api/tables.ts'
import type { KnownTable } from './rights.ts'

/** A statement that the key can run, and one that is refused, if there is one. */
export function statementsFor(
  tables: readonly KnownTable[],
): Readonly<{ allowed: string; refused?: string }> {
  const own = tables.find(({ rights }) => rights.select?.source === 'own' && rights.select.right === 'all')
  const readable = own ?? tables.find(({ rights }) => rights.select?.right === 'all')
  const closed =
    tables.find((table) => table === readable && !table.rights.delete) ??
    tables.find(({ rights }) => !rights.select || !rights.delete)
  const refused =
    closed &&
    (closed.rights.select
      ? `delete from ${shownTable(closed)}`
      : `select count(*) from ${shownTable(closed)}`)
  return {
    allowed: readable ? `select count(*) from ${shownTable(readable)}` : 'select 1',
    ...(refused && { refused }),
  }
}
