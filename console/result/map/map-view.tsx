import { useSignalEffect } from '@preact/signals'
import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { classify } from '../../geo/classes.ts'
import { mostShapes, type Shapes } from '../../geo/shapes.ts'
import { Choice, type ChoiceOption } from '../../parts/controls/choice.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty } from '../../parts/notice.tsx'
import type { Result } from '../result.ts'
import type { ResultLook } from '../result-look.ts'
import type { ResultColumn } from '../worker/protocol.ts'
import { coloursOf, readWorld, resultStyle, selectedFilters, shapeLayers } from './map-style.ts'
import { openMap, whenLoaded } from './open-map.ts'

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
      <Load from={shapes}>
        {(found) =>
          found.bounds ? (
            <DrawnMap
              world={found.world}
              shapes={found}
              look={look}
              isNumeric={columns[colourBy ?? -1]?.type === 'number'}
              isColoured={colourBy !== null}
            />
          ) : (
            <Empty>{nothingDrawn(found)}</Empty>
          )
        }
      </Load>
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
  look: ResultLook
  isNumeric: boolean
  isColoured: boolean
}>

function DrawnMap({ world, shapes, look, isNumeric, isColoured }: DrawnProps) {
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
      () => showSelected(map, look.selection.peek().focus.row),
    )
    map.on('click', shapeLayers, ({ features = [] }) => {
      const row = Number(features[0]?.id)
      const place = { row, column: look.selection.peek().focus.column }
      look.select({ anchor: place, focus: place })
    })
    return close
  }, [shapes, classes])
  useSignalEffect(() => {
    const { row } = look.selection.value.focus
    const map = container.current?.map
    if (map) whenLoaded(map, () => showSelected(map, row))
  })
  return (
    <div class="map-holder">
      <div class="map" ref={container} />
      {classes && (
        <ul class="legend" aria-label="Legend">
          {classes.labels.map((label, at) => (
            <li key={label}>
              <span class="swatch" style={{ background: coloursOf(classes)[at] }} /> {label}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function showSelected(map: MapLibre, row: number): void {
  for (const [layer, filter] of selectedFilters(row)) map.setFilter(layer, filter as never)
}
