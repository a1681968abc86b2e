import { useSignalEffect } from '@preact/signals'
import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Classes, classify } from '../../geo/classes.ts'
import { mostShapes, type Shapes } from '../../geo/shapes.ts'
import { colourOf } from '../../parts/browser/theme.ts'
import { Choice, type ChoiceOption } from '../../parts/controls/choice.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { Empty } from '../../parts/notice.tsx'
import { LoadMap, MapLoading } from '../map-loading.tsx'
import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { Legend, type LegendEntry } from './legend.tsx'
import { coloursOf, readWorld, resultStyle, selectedFilters, shapeLayers } from './map-style.ts'
import { type AskedPoint, openMap, whenLoaded } from './open-map.ts'
import { type AskedPlace, mostRowsRead, RowsHere } from './rows-here.tsx'

type MapProps = Readonly<{ result: Result; look: ResultLook }>

/** The geometries of a result on a map. Selecting a shape selects its row, and the reverse. */
export default function MapView({ result, look }: MapProps) {
  const { columns, rows } = result.progress.value
  const geometries = places(columns, ({ type }) => type === 'geometry')
  const [column, setColumn] = useState(geometries[0]?.at ?? 0)
  const [colourBy, setColourBy] = useState<number | null>(null)
  const shapes = useLoaded(
    async () => ({ world: await readWorld(), ...(await result.ask('shapes', { column, colourBy })) }),
    [result, rows, column, colourBy, look.order.value],
  )
  return (
    <div class="map-view">
      <div class="map-bar">
        {geometries.length > 1 && (
          <Choice label="Geometry" value={column} options={geometries} choose={(at) => setColumn(at ?? 0)} />
        )}
        <Choice
          label="Colour by"
          value={colourBy}
          options={places(columns, ({ type }) => type !== 'geometry')}
          choose={setColourBy}
          none="none"
        />
        {shapes.value && <span class="small muted">{describe(shapes.value)}</span>}
      </div>
      <LoadMap from={shapes}>
        {(found) =>
          found.bounds ? (
            <DrawnMap
              world={found.world}
              shapes={found}
              result={result}
              look={look}
              isNumeric={columns[colourBy ?? -1]?.type === 'number'}
              isColoured={colourBy !== null}
            />
          ) : (
            <Empty>{nothingDrawn(found)}</Empty>
          )
        }
      </LoadMap>
    </div>
  )
}

const places = (
  columns: readonly ResultColumn[],
  isWanted: (column: ResultColumn) => boolean,
): ChoiceOption[] =>
  columns
    .map((column, at) => ({ at, name: column.name, isWanted: isWanted(column) }))
    .filter((place) => place.isWanted)

function describe({ features, beyond, empty, undrawn }: Shapes): string {
  const others = Object.entries(undrawn).map(
    ([srid, count]) => `${formatCount(count)} with SRID ${srid} not drawn`,
  )
  const parts = [plural(features.length, 'shape')]
  if (beyond > 0)
    parts.push(`${formatCount(beyond)} rows not drawn: the limit is ${formatCount(mostShapes)} shapes`)
  if (empty > 0) parts.push(`${plural(empty, 'row')} without geometry`)
  return [...parts, ...others].join(' · ')
}

function nothingDrawn({ undrawn }: Shapes): string {
  const [srid] = Object.keys(undrawn)
  if (srid === undefined) return 'No row has a geometry to draw.'
  return `SRID ${srid} cannot be drawn, only 4326 and 3857. Use ST_Transform(…, 4326) in the statement.`
}

type DrawnProps = Readonly<{
  world: object
  shapes: Shapes
  result: Result
  look: ResultLook
  isNumeric: boolean
  isColoured: boolean
}>

function DrawnMap({ world, shapes, result, look, isNumeric, isColoured }: DrawnProps) {
  const [here, setHere] = useState<AskedPlace<readonly number[]> | undefined>(undefined)
  const [isLoading, setLoading] = useState(true)
  const container = useRef<HTMLDivElement & { map?: MapLibre }>(null)
  const classes = useMemo(
    () =>
      isColoured
        ? classify(
            shapes.features.map(({ properties }) => properties.colour ?? null),
            isNumeric,
          )
        : undefined,
    [shapes, isColoured, isNumeric],
  )
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
    setHere(undefined)
    return close
  }, [shapes, classes])
  useSignalEffect(() => {
    const { row } = look.selection.value.focus
    const map = container.current?.map
    if (map) whenLoaded(map, () => showSelected(map, row))
  })
  return (
    <div class="result-body">
      <div class="map-holder">
        <div class="map" ref={container} />
        <div class="map-middle" />
        <Legend label="Legend" entries={entriesOf(shapes, classes)} />
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

function entriesOf({ features }: Shapes, classes: Classes | undefined): readonly LegendEntry[] {
  const isPoints = features.every(({ geometry }) => geometry.type === 'Point')
  const shapes = classes
    ? classes.labels.map((text, at) => ({ colour: coloursOf(classes)[at]!, text }))
    : [{ colour: colourOf('mark'), text: `each ${isPoints ? 'dot' : 'shape'} is one row` }]
  return [...shapes, { colour: 'transparent', text: 'the selected row', isOutlined: true }]
}

/** The rows whose shapes are at a place, the uppermost first. */
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
