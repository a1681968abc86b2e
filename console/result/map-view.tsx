import mapWorker from 'worker:maplibre-gl/dist/maplibre-gl-worker.mjs'
import { useSignalEffect } from '@preact/signals'
import { LngLatBounds, Map as MapLibre, NavigationControl, setWorkerUrl } from 'maplibre-gl'
import mapCss from 'maplibre-gl/dist/maplibre-gl.css' with { type: 'text' }
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { classify } from '../geo/classes.ts'
import { mostShapes, type Shapes } from '../geo/shapes.ts'
import { assetAddress } from '../parts/address.ts'
import { Choice, type Option } from '../parts/choice.tsx'
import { formatCount, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { adoptStyles } from '../parts/styles.ts'
import { theme } from '../parts/theme.ts'
import { coloursOf, mapStyle, readWorld, selectedFilters, shapeLayers } from './map-style.ts'
import type { Column } from './protocol.ts'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

adoptStyles(mapCss)
setWorkerUrl(assetAddress(mapWorker))

type MapProps = Readonly<{ result: Result; look: ResultLook }>

/** The geometries of a result on the countries of the world. A shape and its row select each other. */
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
          none="nothing"
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

const places = (columns: readonly Column[], isWanted: (column: Column) => boolean): Option[] =>
  columns
    .map((column, at) => ({ at, name: column.name, isWanted: isWanted(column) }))
    .filter((place) => place.isWanted)

function describe({ features, beyond, empty, undrawn }: Shapes): string {
  const others = Object.entries(undrawn).map(
    ([srid, count]) => `${formatCount(count)} with SRID ${srid} not drawn`,
  )
  const parts = [plural(features.length, 'shape')]
  if (beyond > 0)
    parts.push(`${formatCount(beyond)} rows beyond the first ${formatCount(mostShapes)} shapes not drawn`)
  if (empty > 0) parts.push(`${formatCount(empty)} without a shape`)
  return [...parts, ...others].join(' · ')
}

function nothingDrawn({ undrawn }: Shapes): string {
  const [srid] = Object.keys(undrawn)
  if (srid === undefined) return 'No row has a shape to draw.'
  return `These have SRID ${srid}, and 4326 and 3857 are drawn: put ST_Transform(…, 4326) into the statement.`
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
  const style = () => mapStyle(world, shapes.features, classes)
  useEffect(() => {
    const map = new MapLibre({
      container: container.current!,
      style: style(),
      bounds: LngLatBounds.convert(shapes.bounds as never),
      fitBoundsOptions: { padding: 40, maxZoom: 12 },
      attributionControl: false,
      dragRotate: false,
      maxPitch: 0,
    })
    map.addControl(new NavigationControl({ showCompass: false }))
    map.on('click', shapeLayers, ({ features = [] }) => {
      const row = Number(features[0]?.id)
      const place = { row, column: look.selection.peek().focus.column }
      look.select({ anchor: place, focus: place })
    })
    container.current!.map = map
    // The new style has to wait for the old one.
    const unfollow = theme.subscribe(() => map.isStyleLoaded() && map.setStyle(style()))
    return () => {
      unfollow()
      map.remove()
    }
  }, [shapes, classes])
  useSignalEffect(() => {
    const { row } = look.selection.value.focus
    const map = container.current?.map
    const show = () => {
      for (const [layer, filter] of selectedFilters(row)) map?.setFilter(layer, filter as never)
    }
    if (map?.isStyleLoaded()) show()
    else map?.once('idle', show)
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
