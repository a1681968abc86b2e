import { useSignalEffect } from '@preact/signals'
import type { LngLatLike, Map as MapLibre } from 'maplibre-gl'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { readRows, rowsOf } from '../../api/sql.ts'
import { type Classes, classify } from '../../geo/classes.ts'
import { type Box, rowsAtSql } from '../../geo/rows-sql.ts'
import { mostShapes, type Shapes } from '../../geo/shapes.ts'
import { colourOf } from '../../parts/browser/theme.ts'
import { Choice, type ChoiceOption } from '../../parts/controls/choice.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { Empty } from '../../parts/notice.tsx'
import { LoadMap, MapLoading } from '../map-loading.tsx'
import type { Result, ResultSource } from '../result.ts'
import type { PointColumns, ResultLook } from '../result-look.ts'
import type { ViewProps } from '../view-props.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { Legend, type LegendEntry } from './legend.tsx'
import { coloursOf, readWorld, resultStyle, selectedFilters, shapeLayers } from './map-style.ts'
import { whenStyled } from './maplibre-setup.ts'
import { type AskedPoint, openMap } from './open-map.ts'
import { numbersOf, PointColumnsChooser } from './point-columns.tsx'
import { type AskedPlace, mostRowsRead, RowsHere } from './rows-here.tsx'
import { tilesOfQuery } from './tile-source.ts'
import { TiledMap } from './tiled-map.tsx'

/**
 * The geometries of a result on a map, or points from two number columns. Selecting a shape selects its row, and the
 * reverse. A result with more geometries than the browser can draw is drawn by tiles of the service, which runs the
 * query again for each.
 */
export default function MapView({ result, look, source }: ViewProps) {
  const { columns, rows } = result.progress.value
  const geometries = places(columns, ({ type }) => type === 'geometry')
  const [column, setColumn] = useState(look.points.peek() ? ofNumbers : (geometries[0]?.at ?? ofNumbers))
  const [colourBy, setColourBy] = useState<number | null>(null)
  const points = column === ofNumbers ? look.points.value : undefined
  const shapes = useLoaded(
    async (signal) => {
      const found = await readFound(result, points ?? column, colourBy)
      if (!found) return 'nothing chosen'
      const isWhole = points || (found.beyond === 0 && result.state.peek() !== 'full')
      const tiles = isWhole ? undefined : await tilesOf(source, columns, { found, column, colourBy }, signal)
      const classes = classesOf(found, columns[colourBy ?? -1])
      const of = JSON.stringify([column, points])
      return { world: await readWorld(), ...found, tiles, classes, of }
    },
    [result, rows, column, points, colourBy, look.order.value],
  )
  const found = typeof shapes.value === 'object' ? shapes.value : undefined
  return (
    <div class="map-view">
      <MapBar {...{ columns, geometries, column, setColumn, colourBy, setColourBy, look }}>
        {found && !found.tiles && <span class="small muted">{describe(found)}</span>}
      </MapBar>
      <LoadMap from={shapes}>
        {(value) =>
          value === 'nothing chosen' ? (
            <Empty>
              {geometries.length === 0 && 'No geometry. '}Choose two columns as longitude and latitude in
              degrees. They are drawn on this map only; the statement stays as it is.
            </Empty>
          ) : value.tiles && value.bounds && source ? (
            <TiledMap
              source={value.tiles}
              world={value.world}
              bounds={value.bounds}
              about="all rows of the query, run again for each tile"
              classes={value.classes}
              readHere={(box, signal) => readBox(source, columns, { found: value, column }, box, signal)}
            />
          ) : value.bounds ? (
            <DrawnMap {...{ ...value, shapes: value, result, look }} />
          ) : (
            <Empty>{nothingDrawn(value)}</Empty>
          )
        }
      </LoadMap>
    </div>
  )
}

/** Instead of a geometry column: two number columns. */
const ofNumbers = -1

async function readFound(result: Result, drawn: number | PointColumns, colourBy: number | null) {
  if (typeof drawn === 'object') return result.ask('points', { ...drawn, colourBy })
  return drawn === ofNumbers ? undefined : result.ask('shapes', { column: drawn, colourBy })
}

type BarProps = Readonly<{
  columns: readonly ResultColumn[]
  geometries: readonly ChoiceOption[]
  column: number
  setColumn: (column: number) => void
  colourBy: number | null
  setColourBy: (column: number | null) => void
  look: ResultLook
  children: ComponentChildren
}>

function MapBar(props: BarProps) {
  const { columns, geometries, column, setColumn, colourBy, setColourBy, look, children } = props
  const hasNumbers = numbersOf(columns).length > 1
  const drawable = [...geometries, ...(hasNumbers ? [{ at: ofNumbers, name: 'two columns of numbers' }] : [])]
  const choose = (at: number) => {
    setColumn(at)
    if (at !== ofNumbers) look.points.value = undefined
  }
  return (
    <div class="map-bar">
      {drawable.length > 1 && (
        <Choice label="Geometry" value={column} options={drawable} choose={(at) => choose(at ?? ofNumbers)} />
      )}
      {column === ofNumbers && <PointColumnsChooser columns={columns} look={look} />}
      <Choice
        label="Colour by"
        value={colourBy}
        options={places(columns, ({ type }) => type !== 'geometry')}
        choose={setColourBy}
        none="none"
      />
      {children}
    </div>
  )
}

type Chosen = Readonly<{ found: Shapes; column: number; colourBy: number | null }>

/** Queries of maps take no parameters: with them only the rows in the browser are drawn. */
const tilesOf = async (
  source: ResultSource | undefined,
  columns: readonly ResultColumn[],
  { found, column, colourBy }: Chosen,
  signal: AbortSignal,
) =>
  source && source.params === undefined
    ? tilesOfQuery(
        {
          text: source.text,
          column: columns[column]!.name,
          srid: found.srid,
          isPoints: arePoints(found),
          colourBy: colourBy === null ? null : columns[colourBy]!.name,
          as: source.credential,
        },
        signal,
      )
    : undefined

/** Classes of the rows in the browser. */
const classesOf = ({ features }: Shapes, colourBy: ResultColumn | undefined) =>
  colourBy &&
  classify(
    features.map(({ properties }) => properties.colour ?? null),
    colourBy.type === 'number',
  )

const arePoints = ({ features }: Shapes) => features.every(({ geometry }) => geometry.type === 'Point')

async function readBox(
  { text, credential }: ResultSource,
  columns: readonly ResultColumn[],
  { found, column }: Pick<Chosen, 'found' | 'column'>,
  box: Box,
  signal: AbortSignal,
) {
  const names = columns.filter(({ type }) => type !== 'geometry').map(({ name }) => name)
  const from = { from: rowsOf(text), column: columns[column]!.name, srid: found.srid }
  const sql = rowsAtSql(from, names, box, mostRowsRead)
  const rows = await readRows<{ values: readonly (string | null)[] }>(sql, { signal, as: credential })
  return { columns: names, rows: rows.map(({ values }) => values) }
}

const places = (
  columns: readonly ResultColumn[],
  isWanted: (column: ResultColumn) => boolean,
): ChoiceOption[] =>
  columns
    .map((column, at) => ({ at, name: column.name, isWanted: isWanted(column) }))
    .filter((place) => place.isWanted)

function describe({ features, beyond, empty, undrawn, outside }: Shapes): string {
  const others = Object.entries(undrawn).map(
    ([srid, count]) => `${formatCount(count)} with SRID ${srid} not drawn`,
  )
  const parts = [plural(features.length, outside === undefined ? 'shape' : 'point')]
  if (beyond > 0)
    parts.push(`${formatCount(beyond)} rows not drawn: the limit is ${formatCount(mostShapes)} shapes`)
  if (empty > 0)
    parts.push(`${plural(empty, 'row')} without ${outside === undefined ? 'geometry' : 'both numbers'}`)
  if (outside) parts.push(`${plural(outside, 'row')} out of range, not drawn`)
  return [...parts, ...others].join(' · ')
}

function nothingDrawn({ undrawn, outside }: Shapes): string {
  if (outside !== undefined)
    return 'No row has a longitude from -180 to 180 and a latitude from -90 to 90. Other coordinates: use ST_Transform in the statement.'
  const [srid] = Object.keys(undrawn)
  if (srid === undefined) return 'No row has a geometry to draw.'
  return `SRID ${srid} cannot be drawn, only 4326 and 3857. Use ST_Transform(…, 4326) in the statement.`
}

type DrawnProps = Readonly<{
  world: object
  shapes: Shapes
  result: Result
  look: ResultLook
  classes: Classes | undefined
  /** The columns that are drawn. */
  of: string
}>

type Moved = Readonly<{ of: string; center: LngLatLike; zoom: number }>

function DrawnMap({ world, shapes, result, look, classes, of }: DrawnProps) {
  const [here, setHere] = useState<AskedPlace<readonly number[]> | undefined>(undefined)
  const [isLoading, setLoading] = useState(true)
  const container = useRef<HTMLDivElement & { map?: MapLibre }>(null)
  const moved = useRef<Moved>(undefined)
  useEffect(() => {
    const { map, close } = openMap(
      container.current!,
      () => resultStyle(world, shapes.features, classes),
      shapes.bounds!,
      {
        restyled: () => showSelected(map, look.selection.peek().focus.row),
        loading: setLoading,
        ask: (point) => {
          const rows = rowsAt(map, point)
          const isKnown = point.isByKeyboard || rows.length > 0
          setHere(isKnown ? { at: rows, isByKeyboard: point.isByKeyboard } : undefined)
          const place = { row: rows[0] ?? 0, column: look.selection.peek().focus.column }
          if (rows.length > 0) look.select({ anchor: place, focus: place })
        },
      },
    )
    // The view that the user moved to stays when the rows are read again.
    if (moved.current?.of === of) map.jumpTo(moved.current)
    map.on('moveend', ({ originalEvent }) => {
      if (originalEvent) moved.current = { of, center: map.getCenter(), zoom: map.getZoom() }
    })
    setHere(undefined)
    return close
  }, [shapes, classes])
  useSignalEffect(() => {
    const { row } = look.selection.value.focus
    const map = container.current?.map
    if (map) whenStyled(map, () => showSelected(map, row))
  })
  return (
    <div class="result-body">
      <div class="map-holder">
        <div class="map" ref={container} />
        <div class="map-middle" />
        <Legend label="Legend" entries={entriesOf(shapes, classes, look.selection.value.focus.row >= 0)} />
        {isLoading && <MapLoading />}
      </div>
      {here && (
        <RowsHere
          by={here}
          read={() => readHere(result, here.at)}
          close={() => {
            setHere(undefined)
            if (here.isByKeyboard) container.current?.map?.getCanvas().focus()
          }}
        />
      )}
    </div>
  )
}

function entriesOf(found: Shapes, classes: Classes | undefined, isSelected: boolean): readonly LegendEntry[] {
  const isPoints = arePoints(found)
  const shapes = classes
    ? classes.labels.map((text, at) => ({ colour: coloursOf(classes)[at]!, text }))
    : [{ colour: colourOf('mark'), text: `each ${isPoints ? 'dot' : 'shape'} is one row` }]
  return isSelected
    ? [...shapes, { colour: 'transparent', text: 'the selected row', isOutlined: true }]
    : shapes
}

/** The rows whose shapes are at a place, the topmost first. */
function rowsAt(map: MapLibre, { x, y, reach, isByKeyboard }: AskedPoint): readonly number[] {
  const layers = shapeLayers.filter((layer) => map.getLayer(layer))
  const exact = isByKeyboard ? [] : map.queryRenderedFeatures([x, y], { layers })
  const around: [[number, number], [number, number]] = [
    [x - reach, y - reach],
    [x + reach, y + reach],
  ]
  const found = exact.length > 0 ? exact : map.queryRenderedFeatures(around, { layers })
  return [...new Set(found.map(({ id }) => Number(id)))].slice(0, mostRowsRead)
}

async function readHere(result: Result, rows: readonly number[]) {
  const { columns } = result.progress.peek()
  const shown = columns.flatMap(({ type }, at) => (type === 'geometry' ? [] : [at]))
  const found = await Promise.all(rows.map((row) => result.ask('rows', { from: row, count: 1 })))
  return {
    columns: shown.map((at) => columns[at]!.name),
    rows: found.map(([row]) => shown.map((at) => row?.[at] ?? null)),
  }
}

function showSelected(map: MapLibre, row: number): void {
  for (const [layer, filter] of selectedFilters(row)) map.setFilter(layer, filter as never)
}
