import { session } from '../api/session.ts'
import { readRows } from '../api/sql.ts'
import { shownTable, type TableId } from '../api/tables.ts'
import { formatBytes, formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'

type LargeTable = TableId & Readonly<{ bytes: number; rows: number }>

/** With the Master key, the tables that count for the quota; with another key, those it can read. */
export function LargestTables() {
  const { isMaster } = session.value!
  const tables = useLoaded(
    (signal) => readRows<LargeTable>(largestSql(isMaster), { signal }),
    [session.value],
  )
  return (
    <Load from={tables} lines={3}>
      {(found) =>
        found.length > 0 && (
          <div class="scroll-x">
            <table class="list">
              <caption class="muted small">Largest tables, including indexes</caption>
              <thead>
                <tr>
                  <th scope="col">Table</th>
                  <th scope="col" class="number">
                    Size
                  </th>
                  <th scope="col" class="number">
                    Rows
                  </th>
                </tr>
              </thead>
              <tbody>
                {found.map(({ schema, name, bytes, rows }) => (
                  <tr key={`${schema}\n${name}`}>
                    <td>{shownTable({ schema, name })}</td>
                    <td class="number">{formatBytes(bytes)}</td>
                    <td class="number">
                      {rows < 0 ? 'not counted yet' : `about ${formatCount(Math.round(rows))}`}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Load>
  )
}

const largestSql = (isMaster: boolean) => `
select n.nspname as schema, c.relname as name, pg_catalog.pg_total_relation_size(c.oid) as bytes, c.reltuples as rows
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname operator(pg_catalog.!~) '^pg_'
  and n.nspname not in ('information_schema', 'cartodb', 'cartage', 'postgis', 'topology')
  and ${isMaster ? "pg_catalog.pg_has_role(c.relowner, 'member')" : "pg_catalog.has_table_privilege(c.oid, 'select')"}
order by bytes desc, 1, 2 limit 10`
