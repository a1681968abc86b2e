import { session } from '../api/session.ts'
import { readRows } from '../api/sql.ts'
import { shownTable, type TableId } from '../api/tables.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'

/** Tables without autovacuum: switched off by the owner, or by the service because it took too long. */
export function TablesNotVacuumed() {
  const tables = useLoaded((signal) => readRows<TableId>(notVacuumed, { signal }), [session.value])
  return (
    <Load from={tables} lines={1}>
      {(found) =>
        found.length > 0 && (
          <Notice>
            Autovacuum is off for {found.map(shownTable).join(', ')}. The service switches it off where an
            index or statistics call a slow function. Remove it, then run ALTER TABLE … SET
            (autovacuum_enabled = on).
          </Notice>
        )
      }
    </Load>
  )
}

const notVacuumed = `
select n.nspname as schema, c.relname as name
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where 'autovacuum_enabled=off' = any (c.reloptions) and pg_catalog.pg_has_role(c.relowner, 'member')
order by 1, 2 limit 10`
