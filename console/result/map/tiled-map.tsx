import type { Map as MapLibre } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isOverTime } from '../../api/api-error.ts'
import type { Classes } from '../../geo/classes.ts'
import type { Box } from '../../geo/rows-sql.ts'
import { colourOf } from '../../parts/browser/theme.ts'
import { formatCount } from '../../parts/format.ts'
import { ErrorNotice } from '../../parts/notice.tsx'
import { MapLoading } from '../map-loading.tsx'
import { Legend } from './legend.tsx'
import { cellSteps, coloursOf, tilesStyle } from './map-style.ts'
import { MapTiles } from './map-tiles.ts'
import { openMap } from './open-map.ts'
import { type AskedPlace, type RowsAtPlace, RowsHere } from './rows-here.tsx'
import { mostInTile, type TileSource } from './tile-source.ts'

export type TiledMapProps = Readonly<{
  source: TileSource
  world: object
  bounds: Box
  /** What is drawn, in words. */
  about: string
  classes?: Classes | undefined
  readHere: (box: Box, signal: AbortSignal) => Promise<RowsAtPlace>
  /** Called for each tile that failed. */
  failed?: (error: unknown) => void
}>

type Shown = Readonly<{ percent: number; isMany: boolean }>

/** A map of any number of rows, drawn by tiles of the service. */
export function TiledMap({ source, world, bounds, about, classes, readHere, failed }: TiledMapProps) {
  const holder = useRef<HTMLDivElement & { map?: MapLibre }>(null)
  const [shown, setShown] = useState<Shown>({ percent: source.percent, isMany: false })
  const [error, setError] = useState<unknown>(undefined)
  const [here, setHere] = useState<AskedPlace<Box> | undefined>(undefined)
  const [isLoading, setLoading] = useState(true)
  useEffect(() => {
    const tiles = new MapTiles(source, (reason) => {
      setError(reason)
      failed?.(reason)
    })
    const style = () => tilesStyle(world, tiles.address, source.layer, classes)
    const { map, close } = openMap(holder.current!, style, bounds, {
      loading: setLoading,
      ask: ({ x, y, reach, isByKeyboard }) => {
        const [west, south] = map.unproject([x - reach, y + reach]).toArray()
        const [east, north] = map.unproject([x + reach, y - reach]).toArray()
        setHere({ at: [west, south, east, north], isByKeyboard })
      },
    })
    // MapTiles reports failed tiles. Aborted tiles are not errors.
    map.on('error', (event) => 'tile' in event || console.error(event.error))
    map.on('movestart', () => setError(undefined))
    map.on('idle', () => setShown(shownOn(map, tiles)))
    return () => {
      close()
      tiles.close()
    }
  }, [source, classes])
  return (
    <>
      <p class="map-bar small muted" role="status">
        {[about, ...describe(source, shown)].join(' · ')}
      </p>
      {error !== undefined && (
        <ErrorNotice error={error} {...(isOverTime(error) ? { title: tooSlow } : {})} />
      )}
      <div class="result-body">
        <div class="map-holder">
          <div class="map" ref={holder} />
          <div class="map-middle" />
          <TilesLegend isPoints={source.isPoints} isMany={shown.isMany} classes={classes} />
          {isLoading && <MapLoading />}
        </div>
        {here && (
          <RowsHere
            by={here}
            read={(signal) => readHere(here.at, signal)}
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

function shownOn(map: MapLibre, tiles: MapTiles): Shown {
  const read = tiles.readAt(Math.floor(map.getZoom()))
  const hasCells =
    map.getLayer('cells') !== undefined && map.queryRenderedFeatures({ layers: ['cells'] }).length > 0
  return {
    percent: Math.min(100, ...read.map(({ percent }) => percent)),
    isMany: hasCells || read.some(({ isTruncated }) => isTruncated),
  }
}

function describe({ isPoints }: TileSource, { percent, isMany }: Shown): readonly string[] {
  const parts: string[] = []
  if (percent < 100) parts.push(`dense areas show a sample of about ${percent}% of the rows`)
  if (isPoints && isMany) parts.push('in dense areas a dot stands for all rows around it')
  if (!isPoints && isMany)
    parts.push(`the largest ${formatCount(mostInTile)} shapes of each tile: zoom in to see all`)
  return parts
}

const tooSlow = 'A part of the map took too long. Create an index on the geometry, or zoom in.'

type LegendProps = Readonly<{ isPoints: boolean; isMany: boolean; classes: Classes | undefined }>

function TilesLegend({ isPoints, isMany, classes }: LegendProps) {
  const colour = colourOf('mark')
  if (classes) {
    const entries = classes.labels.map((text, at) => ({ colour: coloursOf(classes)[at]!, text }))
    return <Legend label="Legend" entries={entries} />
  }
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
