import { useState } from 'preact/hooks'
import { readRows } from '../../api/sql.ts'
import type { Table, TableColumn } from '../../api/tables.ts'
import { formatDuration } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import type { Result } from '../../result/result.ts'
import { CreateIndex } from '../structure/index-dialogs.tsx'
import { indexedSql } from '../structure/structure-sql.ts'
import type { RowFilter } from './wanted-rows.ts'

type SlowProps = Readonly<{
  table: Table
  columns: readonly TableColumn[]
  filters: readonly RowFilter[]
  result: Result
  reread: () => void
}>

const slowMs = 1_000

/** Offers an index if a filter took over a second and its column has none. */
export function SlowFilter({ table, columns, filters, result, reread }: SlowProps) {
  const ms = result.elapsedMs.value ?? 0
  const name = filters.find(({ operator }) => /^(=|<|≤|>|≥|is NULL)$/.test(operator))?.column
  const isAsked = ms > slowMs && name !== undefined && table.kind === 'table' && table.isOwned
  const [isOpen, setOpen] = useState(false)
  const indexed = useLoaded(
    async (signal) => (isAsked ? await readRows<{ name: string }>(indexedSql(table), { signal }) : undefined),
    [isAsked, name, result],
  )
  if (!isAsked || !indexed.value || indexed.value.some((each) => each.name === name)) return null
  const done = () => {
    setOpen(false)
    toast('Index created')
    reread()
  }
  return (
    <Notice
      acts={
        <button type="button" onClick={() => setOpen(true)}>
          Create index…
        </button>
      }
    >
      The filter took {formatDuration(ms)}. An index on {name} may make it faster.
      {isOpen && (
        <CreateIndex table={table} columns={columns} first={name} close={() => setOpen(false)} done={done} />
      )}
    </Notice>
  )
}
