import { useState } from 'preact/hooks'
import { hasCode } from '../../../src/client/cartage-error.ts'
import { readRows } from '../../api/sql.ts'
import { type AboutTable, type Box, type DrawnColumn, rowsAtSql } from '../../geo/rows-sql.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { Choice } from '../../parts/controls/choice.tsx'
import { formatCount } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { Empty } from '../../parts/notice.tsx'
import { LoadMap } from '../map-loading.tsx'
import css from '../result.css' with { type: 'text' }
import { readWorld } from './map-style.ts'
import { mostRowsRead } from './rows-here.tsx'
import { RowsMap } from './rows-map.tsx'
import { readAboutTable, readTileSource } from './table-about.ts'
import { PrepareNotice } from './table-prepare.tsx'
import type { TileSource } from './tile-source.ts'
import { TiledMap } from './tiled-map.tsx'

adoptStyles(css)

type TableProps = Readonly<{ schema: string; name: string }>

/** A table of any size on a map of the world, drawn by tiles. */
export default function TableMap({ schema, name }: TableProps) {
  const about = useLoaded((signal) => readAboutTable({ schema, name }, signal), [schema, name])
  return (
    <LoadMap from={about}>
      {(table) =>
        table.geometries.length === 0 ? (
          <Empty>This table has no geometry column.</Empty>
        ) : (
          <MapOfColumn key={`${schema}.${name}`} table={table} reload={about.reload} />
        )
      }
    </LoadMap>
  )
}

function MapOfColumn({ table, reload }: Readonly<{ table: AboutTable; reload: () => void }>) {
  const [at, setAt] = useState(0)
  const [isForbidden, setForbidden] = useState(false)
  const failed = (error: unknown) => {
    if (hasCode(error, 'api-forbidden')) setForbidden(true)
  }
  const column = table.geometries[at] ?? table.geometries[0]!
  const drawn = useLoaded(
    async (signal) => {
      const [world, found] = await Promise.all([
        readWorld(),
        readTileSource(table, column, signal).catch((error: unknown) => {
          failed(error)
          throw error
        }),
      ])
      return { world, ...found }
    },
    [table, column],
  )
  if (isForbidden) return <RowsMap schema={table.schema} name={table.name} />
  const options = table.geometries.map((name, place) => ({ at: place, name }))
  return (
    <div class="map-view">
      {options.length > 1 && (
        <div class="map-bar">
          <Choice label="Geometry" value={at} options={options} choose={(next) => setAt(next ?? 0)} />
        </div>
      )}
      {!table.isPrepared && <PrepareNotice table={table} done={reload} />}
      <LoadMap from={drawn}>
        {({ world, source, from, bounds, why }) =>
          source && from && bounds ? (
            <DrawnTable
              key={column}
              table={table}
              source={source}
              from={from}
              world={world}
              bounds={bounds}
              failed={failed}
            />
          ) : (
            <Empty>{why}</Empty>
          )
        }
      </LoadMap>
    </div>
  )
}

type DrawnProps = Readonly<{
  table: AboutTable
  source: TileSource
  from: DrawnColumn
  world: object
  bounds: Box
  failed: (error: unknown) => void
}>

function DrawnTable({ table, source, from, world, bounds, failed }: DrawnProps) {
  const { rows } = table
  return (
    <TiledMap
      source={source}
      world={world}
      bounds={bounds}
      about={rows > 0 ? `about ${formatCount(rows)} rows` : 'rows not counted yet'}
      readHere={(box, signal) => readHere(table, from, box, signal)}
      failed={failed}
    />
  )
}

async function readHere({ columns }: AboutTable, from: DrawnColumn, box: Box, signal: AbortSignal) {
  const sql = rowsAtSql(from, columns, box, mostRowsRead)
  const rows = await readRows<{ values: readonly (string | null)[] }>(sql, { signal })
  return { columns, rows: rows.map(({ values }) => values) }
}
