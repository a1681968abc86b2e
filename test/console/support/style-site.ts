import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { PbfWriter } from 'pbf'

/** A MapLibre style for each theme at one origin; its tiles, fonts and pictures at another. */
export type StyleSite = Readonly<{
  light: string
  dark: string
  /** The origin of the tiles. */
  origin: string
  /** The paths that were requested. */
  asked: readonly string[]
  /** From now on these are missing. */
  failing: Set<'styles' | 'tiles'>
}>

/** The colours of the land in the two styles. */
export const landColours = { light: [0, 255, 0], dark: [0, 0, 128] } as const
/** The colour of the raster tiles, which cover the east. */
export const rasterColour = [255, 255, 0]

export async function styleSite(t: TestContext): Promise<StyleSite> {
  const asked: string[] = []
  const failing = new Set<'styles' | 'tiles'>()
  const origin = await serve(t, (path) => (failing.has('tiles') ? undefined : filesAt(origin, path)), asked)
  const styles = await serve(t, (path) => (failing.has('styles') ? undefined : stylesAt(origin, path)), asked)
  return { light: `${styles}/light.json`, dark: `${styles}/dark.json`, origin, asked, failing }
}

type File = Buffer | object | undefined

async function serve(t: TestContext, read: (path: string) => File, asked: string[]): Promise<string> {
  const listen: RequestListener = (request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    asked.push(path)
    const file = read(path)
    response.setHeader('access-control-allow-origin', '*')
    if (file === undefined) response.writeHead(503).end()
    else response.end(Buffer.isBuffer(file) ? file : JSON.stringify(file))
  }
  const server = createServer(listen)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function stylesAt(origin: string, path: string): File {
  const theme = /^\/(light|dark)\.json$/.exec(path)?.[1] as 'light' | 'dark' | undefined
  if (!theme) return undefined
  return {
    version: 8,
    glyphs: `${origin}/fonts/{fontstack}/{range}.pbf`,
    sprite: `${origin}/sprite`,
    sources: {
      area: { type: 'vector', url: `${origin}/area.json` },
      picture: { type: 'raster', tiles: [`${origin}/{z}/{x}/{y}.png`], bounds: [60, -85, 180, 85] },
    },
    layers: [
      { id: 'water', type: 'background', paint: { 'background-color': '#ffffff' } },
      {
        id: 'borders',
        type: 'fill',
        source: 'area',
        'source-layer': 'land',
        paint: { 'fill-color': `rgb(${landColours[theme]})` },
      },
      { id: 'picture', type: 'raster', source: 'picture', paint: { 'raster-fade-duration': 0 } },
      {
        id: 'names',
        type: 'symbol',
        source: 'area',
        'source-layer': 'land',
        layout: { 'icon-image': 'dot', 'text-field': 'Town', 'text-font': ['Their Font'] },
      },
      { id: 'wrong', type: 'line', source: 'area', 'source-layer': 'land', paint: { 'line-width': 'much' } },
      { id: 'without a source', type: 'line', source: 'nowhere', 'source-layer': 'land' },
    ],
  }
}

function filesAt(origin: string, path: string): File {
  if (path === '/area.json')
    return {
      tilejson: '3.0.0',
      tiles: [`${origin}/{z}/{x}/{y}.mvt`],
      maxzoom: 4,
      attribution: '&copy; <a href="https://them.example/about">Them &amp; Us</a><script>no()</script>',
    }
  if (path === '/sprite.json') return { dot: { x: 0, y: 0, width: 1, height: 1, pixelRatio: 1 } }
  if (/\.png$/.test(path)) return yellow
  if (/^\/fonts\/Their Font\/.*\.pbf$/.test(path)) return Buffer.alloc(0)
  return /\.mvt$/.test(path) ? wholeTile : undefined
}

const yellow = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4/58BAAT/Af9dfQKHAAAAAElFTkSuQmCC',
  'base64',
)

/** A vector tile with a layer `land`: one polygon, as large as the tile. */
const wholeTile = Buffer.from(writeTile())

function writeTile(): Uint8Array {
  const edge = 4096
  const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value)
  const [moveTo, lineTo, close] = [9, 26, 15]
  const lines = [edge, 0, 0, edge, -edge, 0].map(zigzag)
  const tile = new PbfWriter()
  tile.writeMessage(
    3,
    (_, layer) => {
      layer.writeStringField(1, 'land')
      layer.writeMessage(
        2,
        (_feature, feature) => {
          feature.writeVarintField(3, 3)
          feature.writePackedVarint(4, [moveTo, 0, 0, lineTo, ...lines, close])
        },
        null,
      )
      layer.writeVarintField(5, edge)
      layer.writeVarintField(15, 2)
    },
    null,
  )
  return tile.finish()
}
