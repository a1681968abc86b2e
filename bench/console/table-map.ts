import type { Page } from 'playwright-core'
import { percentFor } from '../../console/geo/rows-sql.ts'
import { createClient } from '../../src/client/client.ts'
import type { TilePlace } from '../../src/contract/documents.ts'
import { type Aggregation, aggregatedRows, readAggregation } from '../../src/maps/aggregation.ts'
import { tileSql } from '../../src/tiles/tile-sql.ts'
import type { Frame } from '../frame/frame.ts'
import { seconds } from '../frame/measure.ts'
import { psql } from '../frame/psql.ts'
import { pointsSql, tileAt } from '../tiles/points.ts'
import { openConsole, signIn } from './console-page.ts'

/** A table of many points, prepared for maps as a user would, and its page in the console. */
export type TableOfPoints = Readonly<{
  page: Page
  /** The seconds psql takes for the tile that the console requests with this many rows in view. */
  psql: (tile: TilePlace, rowsInView: number) => Promise<number>
}>

export async function openTableOfPoints(frame: Frame, rows: number): Promise<TableOfPoints> {
  const opened = await openConsole(frame, 'mapper', { drawsMaps: true })
  const client = createClient({ baseUrl: opened.url, username: opened.username, token: opened.token })
  frame.after(async () => client.close())
  await client.jobs.run([pointsSql(rows), `select CDB_CartodbfyTable('points')`, 'vacuum analyze points'])
  const url = await frame.urlOf(opened.database)
  const page = await signIn(opened)
  await page.goto(`${opened.url}/console/tables/public/points/columns`)
  await tab(page, 'Map').waitFor()
  return {
    page,
    psql: async (tile, rowsInView) => {
      const text = cellsSql(tile, percentFor(rowsInView))
      return seconds(async () => psql(url, ['-At', '-o', '/dev/null', '-c', text], searchPath))
    },
  }
}

/** The tile of counted points that the service makes for the console. */
function cellsSql(place: TilePlace, percent: number): string {
  const sample = percent < 100 ? ` tablesample system (${percent}) repeatable (1)` : ''
  const geometry = { name: 'g', srid: 3857, type: 'GEOMETRY' }
  const from = `(select the_geom_webmercator as g, ${100 / percent}::float8 as n from points${sample})`
  const columns = { n: { aggregate_function: 'sum', aggregated_column: 'n' } }
  const asked = { threshold: 1, resolution: 1, placement: 'centroid', columns }
  const shown = aggregatedRows(
    { layer: { kind: 'q', geometry, hasId: false, from }, properties: [{ name: 'n', kind: 'float' }] },
    readAggregation(asked) as Aggregation,
    { place, margin: 0 },
  )
  const grid = { extent: 4096, buffer: 0, simplifiedCells: 512 }
  return tileSql({ ...shown, name: 'rows', place, grid, maxFeatures: 50_000, maxBytes: 8 * 1024 ** 2 })
}

const searchPath = { PGOPTIONS: '-c search_path=public,cartodb,postgis' }

const tab = (page: Page, name: string) =>
  page.getByRole('tablist', { name: 'Views of the table' }).getByRole('tab', { name })

/** From the click on `Map` to the first dots. */
export async function timeMapOpened(page: Page): Promise<number> {
  await tab(page, 'Columns').click()
  await page.locator('.map').waitFor({ state: 'detached' })
  await page.evaluate(`void (globalThis.drawn = ${drawn})`)
  await tab(page, 'Map').click()
  return Number(await page.evaluate('drawn')) / 1000
}

const drawn = `new Promise((resolve) => {
  let begin
  addEventListener('click', ({ timeStamp }) => { begin = timeStamp }, { capture: true, once: true })
  const look = () => {
    const map = document.querySelector('.map')?.map
    const isDrawn = map?.getLayer('cells') && map.queryRenderedFeatures({ layers: ['cells', 'points'] }).length > 0
    if (isDrawn) resolve(performance.now() - begin)
    else requestAnimationFrame(look)
  }
  look()
})`

/** From a jump to a place to the tile that contains it. */
export async function timeJump(page: Page, center: readonly [number, number], zoom: number): Promise<number> {
  const { x, y } = tileAt(center, zoom)
  return Number(
    await page.evaluate(`new Promise((resolve) => {
      const { map } = document.querySelector('.map')
      const begin = performance.now()
      const look = ({ sourceId, tile }) => {
        const { z, x, y } = tile?.tileID.canonical ?? {}
        if (sourceId !== 'rows' || z !== ${zoom} || x !== ${x} || y !== ${y} || !tile.hasData()) return
        map.off('sourcedata', look)
        resolve(performance.now() - begin)
      }
      map.on('sourcedata', look)
      map.jumpTo({ center: ${JSON.stringify(center)}, zoom: ${zoom} })
    })`),
  )
}
