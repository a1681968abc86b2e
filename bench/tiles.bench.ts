import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import type { TilePlace } from '../src/contract/documents.ts'
import { tableGrid, tileSql } from '../src/tiles/tile-sql.ts'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'
import { ProcessSampler } from './frame/process-use.ts'
import { rawLoad } from './query/raw-load.ts'
import { largeCity, pointsSql, tileAt } from './tiles/points.ts'
import { viewed, Waits } from './tiles/viewers.ts'

const connections = 8
const viewers = 10
const loadSeconds = 0.25
const slices = 12
const place = '3/4/3'
/** What compression costs is not what a tile costs. */
const plain = { 'accept-encoding': 'identity' }

export const entries: readonly Entry[] = [
  {
    name: 'tiles-render',
    title: 'A tile of 20,000 points with two properties, not stored',
    baseline: 'the same SQL on one connection, and 2 ms',
    unit: 'ms',
    aim: '1.1 or less',
    pairs: 9,
    slices: 20,
    prepare: inFrame(async (frame) => {
      const { client, tileUrl } = await prepareTiles(frame, { CARTAGE_TILE_CACHE_BYTES: '0' })
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      frame.after(async () => agent.destroy())
      return {
        baseline: async () => 1000 * (await seconds(() => client.query(renderSql))) + 2,
        ours: async () => 1000 * (await seconds(() => answered(tileUrl, agent))),
      }
    }),
  },
  ...(['stored', 'known'] as const).map(
    (kind): Entry => ({
      name: `tiles-${kind}`,
      title: kind === 'stored' ? 'A stored tile' : 'A tile that the client has (304)',
      baseline: 'SELECT 1 through the SQL endpoint',
      unit: '1/s',
      aim: '0.8 or more',
      pairs: 9,
      slices,
      prepare: inFrame(async (frame) => {
        const { smallUrl, sqlUrl } = await prepareTiles(frame)
        const first = await fetch(smallUrl, { headers: plain })
        const headers: Record<string, string> =
          kind === 'stored' ? {} : { 'If-None-Match': first.headers.get('etag')! }
        const rate = async (url: string, more = {}) =>
          (await rawLoad([url], connections, loadSeconds * 1000, more)).rate
        return { baseline: () => rate(sqlUrl), ours: () => rate(smallUrl, headers) }
      }),
    }),
  ),
  {
    name: 'tiles-viewers',
    title: `${viewers} viewers of ten million points: the world, then a city at zoom 10; nothing stored`,
    baseline: 'one viewer',
    unit: 's',
    aim: '2 or less',
    pairs: 2,
    prepare: inFrame(prepareViewers),
  },
]

/** Reads an answer of status 200, and keeps nothing of it. */
async function answered(url: string, agent: Agent): Promise<void> {
  const [answer] = (await once(get(url, { agent, headers: plain }), 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${await text(answer)}`)
  await once(answer.resume(), 'end')
}

/** A map of a query that counts the points of each cell. A write before each view invalidates the cache. */
async function prepareViewers(frame: Frame) {
  const { base, token, client, pid } = await prepareUser(frame)
  await client.query(pointsSql(10_000_000))
  await client.query(`select CDB_CartodbfyTable('points')`)
  await client.query('analyze points')
  const made = await fetch(`${base}/v1/map?api_key=${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ layers: [{ options: { sql: 'select * from points' } }] }),
  })
  const { layergroupid } = (await made.json()) as { layergroupid: string }
  const tilesOf = (places: readonly TilePlace[]) =>
    places.map(({ z, x, y }) => `${base}/v1/map/${layergroupid}/${z}/${x}/${y}.mvt?api_key=${token}`)
  const waits = { world: new Waits(), city: new Waits() }
  const memory = new ProcessSampler(pid)
  const look = async (count: number, seen: typeof waits) => {
    await client.query('update points set the_geom = the_geom where cartodb_id = 1')
    const world = await viewed(tilesOf(around({ z: 1, x: 1, y: 1 }, 1)), count, seen.world)
    return world + (await viewed(tilesOf(around(tileAt(largeCity(3), 10), 2)), count, seen.city))
  }
  return {
    baseline: () => look(1, { world: new Waits(), city: new Waits() }),
    ours: () => look(viewers, waits),
    notes: () =>
      `world: ${waits.world}; zoom 10: ${waits.city}; at most ${Math.round(memory.stop().peakRssMb)} MB in the service`,
  }
}

/** This many tiles on each side of the north-west corner of one. */
const around = ({ z, x, y }: TilePlace, reach: number): readonly TilePlace[] =>
  Array.from({ length: 2 * reach }, (_, across) =>
    Array.from({ length: 2 * reach }, (__, down) => ({ z, x: x - reach + across, y: y - reach + down })),
  ).flat()

/** A user, and a connection to the user's database as that user. */
async function prepareUser(frame: Frame, env: Readonly<Record<string, string>> = {}) {
  const service = await frame.startService(env)
  const created = await service.admin('POST', '/users', { username: 'mapper' })
  const { api_key: token } = created as { api_key: string }
  const role = `${service.namespace}_u1`
  const client = await frame.connect(role)
  await client.query(`set session authorization ${pg.escapeIdentifier(role)}; set search_path = public, cartodb, postgis;
    set max_parallel_workers_per_gather = 0; set jit = off`)
  return { client, token, base: `${service.url}/user/mapper/api`, pid: service.pid }
}

/** Two prepared tables of a user, one of which fits into a small tile. */
async function prepareTiles(frame: Frame, env: Readonly<Record<string, string>> = {}) {
  const { client, token, base } = await prepareUser(frame, env)
  for (const [name, count] of [
    ['points', 640_000],
    ['small', 20],
  ] as const) {
    await client.query(`create table ${name} as select n as value, 'name of ' || n as name,
        st_point(n % 2000 * 0.18 - 179.9, n / 2000 * 0.5 - 80, 4326) as the_geom from generate_series(1, ${count}) n`)
    await client.query(`select CDB_CartodbfyTable('${name}')`)
  }
  await client.query('analyze points; analyze small')
  return {
    client,
    tileUrl: `${base}/v1/tiles/points/${place}.mvt?columns=value,name&api_key=${token}`,
    smallUrl: `${base}/v1/tiles/small/0/0/0.mvt?columns=value,name&api_key=${token}`,
    sqlUrl: `${base}/v2/sql?q=select%201&api_key=${token}`,
  }
}

/** The same SQL. */
const renderSql = tileSql({
  layer: {
    from: 'public.points',
    kind: 'r',
    geometry: { name: 'the_geom_webmercator', srid: 3857, type: 'GEOMETRY' },
    hasId: true,
  },
  name: 'points',
  properties: [
    { name: 'value', kind: 'integer' },
    { name: 'name', kind: 'text' },
  ],
  place: { z: 3, x: 4, y: 3 },
  grid: tableGrid,
  maxFeatures: 50_000,
  maxBytes: 8 * 1024 * 1024,
})
