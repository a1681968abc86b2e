import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isOverTime } from '../../api/api-error.ts'
import { readRows } from '../../api/sql.ts'
import { type Box, rowsAtSql, type TileSource } from '../../geo/tile-sql.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { colourOf } from '../../parts/browser/theme.ts'
import { Choice } from '../../parts/controls/choice.tsx'
import { formatCount } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { LoadMap, MapLoading } from '../map-loading.tsx'
import css from '../result.css' with { type: 'text' }
import { Legend } from './legend.tsx'
import { cellSteps, readWorld, tableStyle } from './map-style.ts'
import { openMap } from './open-map.ts'
import { type AskedPlace, mostRowsRead, RowsHere } from './rows-here.tsx'
import { type AboutTable, readAboutTable, readTileSource } from './table-about.ts'
import { PrepareNotice } from './table-prepare.tsx'
import { TableTiles } from './table-tiles.ts'

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
  const column = table.geometries[at] ?? table.geometries[0]!
  const drawn = useLoaded(
    async (signal) => ({ world: await readWorld(), ...(await readTileSource(table, column, signal)) }),
    [table, column],
  )
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
        {({ world, source, bounds, why }) =>
          source && bounds ? (
            <DrawnTable key={column} table={table} source={source} world={world} bounds={bounds} />
          ) : (
            <Empty>{why}</Empty>
          )
        }
      </LoadMap>
    </div>
  )
}

type DrawnProps = Readonly<{ table: AboutTable; source: TileSource; world: object; bounds: Box }>
type Shown = Readonly<{ percent: number; isMany: boolean }>

function DrawnTable({ table, source, world, bounds }: DrawnProps) {
  const holder = useRef<HTMLDivElement & { map?: MapLibre }>(null)
  const [shown, setShown] = useState<Shown>({ percent: source.percent, isMany: false })
  const [error, setError] = useState<unknown>(undefined)
  const [here, setHere] = useState<AskedPlace<Box> | undefined>(undefined)
  const [isLoading, setLoading] = useState(true)
  useEffect(() => {
    const tiles = new TableTiles(source, setError)
    const { map, close } = openMap(holder.current!, () => tableStyle(world, tiles.address), bounds, {
      loading: setLoading,
      ask: ({ x, y, reach, isByKeyboard }) => {
        const [west, south] = map.unproject([x - reach, y + reach]).toArray()
        const [east, north] = map.unproject([x + reach, y - reach]).toArray()
        setHere({ at: [west, south, east, north], isByKeyboard })
      },
    })
    // TableTiles reports failed tiles. Aborted tiles are not errors.
    map.on('error', (event) => 'tile' in event || console.error(event.error))
    map.on('movestart', () => setError(undefined))
    map.on('idle', () => {
      const read = tiles.readAt(Math.floor(map.getZoom()))
      setShown({
        percent: Math.min(100, ...read.map(({ percent }) => percent)),
        isMany: read.some(({ isMany }) => isMany),
      })
    })
    return () => {
      close()
      tiles.close()
    }
  }, [table, source])
  return (
    <>
      <p class="map-bar small muted" role="status">
        {describe(table, source, shown)}
      </p>
      {error !== undefined && (
        <ErrorNotice error={error} {...(isOverTime(error) ? { title: tooSlow } : {})} />
      )}
      <div class="result-body">
        <div class="map-holder">
          <div class="map" ref={holder} />
          <div class="map-middle" />
          <TableLegend isPoints={source.isPoints} isMany={shown.isMany} />
          {isLoading && <MapLoading />}
        </div>
        {here && (
          <RowsHere
            by={here}
            read={(signal) => readHere(table, source, here.at, signal)}
            close={() => {
              setHere(undefined)
              if (here.isByKeyboard) holder.current?.map?.getCanvas().focus()
            }}
          />
        )}
      </div>
    </>
  )
}

async function readHere({ columns }: AboutTable, source: TileSource, box: Box, signal: AbortSignal) {
  const sql = rowsAtSql(source, columns, box, mostRowsRead)
  const rows = await readRows<{ values: readonly (string | null)[] }>(sql, { signal })
  return { columns, rows: rows.map(({ values }) => values) }
}

function describe({ rows }: AboutTable, { isPoints }: TileSource, { percent, isMany }: Shown): string {
  const parts = [rows > 0 ? `about ${formatCount(rows)} rows` : 'rows not counted yet']
  if (percent < 100) parts.push(`dense areas show a sample of about ${percent}% of the rows`)
  if (isPoints && isMany) parts.push('in dense areas a dot stands for all rows around it')
  if (!isPoints) parts.push('shapes smaller than a pixel are left out')
  if (!isPoints && isMany) parts.push('at most 20,000 shapes per tile: zoom in to see all')
  return parts.join(' · ')
}

const tooSlow = 'A part of the map took too long. Create an index on the geometry, or zoom in.'

function TableLegend({ isPoints, isMany }: Readonly<{ isPoints: boolean; isMany: boolean }>) {
  const colour = colourOf('mark')
  if (!isPoints || !isMany) {
    const text = `each ${isPoints ? 'dot' : 'shape'} is one row`
    return <Legend label="Legend" entries={[{ colour, text }]} />
  }
  const cells = cellSteps().map(([from, cellColour]) => ({
    colour: cellColour,
    text: from === 1 ? 'fewer than 10 rows' : `${formatCount(from)} rows or more`,
  }))
  return <Legend label="Rows per dot" entries={[{ colour, text: 'one row' }, ...cells]} />
}
