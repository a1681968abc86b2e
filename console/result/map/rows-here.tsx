import { readRows } from '../../api/sql.ts'
import { type Box, longestValue, rowsAtSql, type TileSource } from '../../geo/tile-sql.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import type { AboutTable } from './table-about.ts'

const mostRows = 10

type HereProps = Readonly<{ table: AboutTable; source: TileSource; box: Box; close: () => void }>

/** The rows at the clicked position, with their values. */
export function RowsHere({ table, source, box, close }: HereProps) {
  const rows = useLoaded(
    (signal) =>
      readRows<{ values: readonly (string | null)[] }>(rowsAtSql(source, table.columns, box, mostRows + 1), {
        signal,
      }),
    [source, box],
  )
  return (
    <aside class="cell-panel" aria-label="Rows at this place">
      <div class="row">
        <strong class="grow">Rows at this place</strong>
        <button type="button" class="quiet square" aria-label="Close the rows" onClick={close}>
          ✕
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <div class="cell-value" tabIndex={0} role="group" aria-label="Values">
        <Load from={rows}>
          {(found) => (
            <>
              {found.length === 0 && <p class="muted">No rows here.</p>}
              {found.slice(0, mostRows).map(({ values }, row) => (
                <dl key={row} class="row-here">
                  {table.columns.map((name, at) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>{shown(values[at] ?? null)}</dd>
                    </div>
                  ))}
                </dl>
              ))}
              {found.length > mostRows && <p class="muted">More than {mostRows} rows here: zoom in.</p>}
            </>
          )}
        </Load>
      </div>
    </aside>
  )
}

function shown(value: string | null) {
  if (value === null) return <em class="muted">NULL</em>
  return value.length > longestValue ? `${value.slice(0, longestValue)}…` : value
}
