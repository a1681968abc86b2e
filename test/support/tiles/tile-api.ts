import assert from 'node:assert/strict'
import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import pg from 'pg'
import { basic, type Setup, type TestUser } from '../service/setup.ts'

export type Feature = Readonly<{
  id: number | undefined
  properties: Readonly<Record<string, unknown>>
  /** 1 point, 2 line, 3 polygon. */
  type: number
  geometry: readonly (readonly Readonly<{ x: number; y: number }>[])[]
}>

export type TileReply = Readonly<{
  status: number
  headers: Headers
  bytes: Buffer
  /** The layers of a tile by name. */
  layers: Readonly<Record<string, readonly Feature[]>>
  /** The body of an error or a TileJSON. */
  body: MapBody
}>

export type MapBody = Readonly<{
  errors: string[]
  errors_with_context: { type: string; subtype?: string; message: string }[]
  code: string
  tiles: string[]
}> &
  Readonly<Record<string, unknown>>

export type TileCall = Readonly<{
  /** Empty: without a key. */
  token?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  method?: string
  /** Sent as JSON, by POST. */
  body?: unknown
  signal?: AbortSignal
  /** The address of another process of the same service. */
  base?: string
}>

/** Sends a request to `/api/v1/tiles`, with the master key by default. */
export const askTiles = (user: TestUser, path: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/tiles${path}`, call)

/** The same below the address of the account. */
export async function askMaps(user: TestUser, path: string, call: TileCall = {}): Promise<TileReply> {
  const {
    token = user.masterToken,
    query = {},
    headers = {},
    body,
    method = body === undefined ? 'GET' : 'POST',
    signal,
    base = user.base,
  } = call
  const parameters = new URLSearchParams(query).toString()
  const response = await fetch(`${base}${path}${parameters && `?${parameters}`}`, {
    method,
    headers: {
      ...(token && basic(user.username, token)),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    layers: response.headers.get('content-type') === 'application/x-protobuf' ? readTile(bytes) : {},
    body: isJson ? JSON.parse(bytes.toString()) : {},
  }
}

/** A tile, which must succeed. */
export async function tileOf(user: TestUser, path: string, call: TileCall = {}): Promise<TileReply> {
  const reply = await askTiles(user, path, call)
  assert.ok([200, 204].includes(reply.status), `${reply.status} ${reply.bytes}`)
  return reply
}

export function readTile(bytes: Uint8Array): TileReply['layers'] {
  const { layers } = new VectorTile(new PbfReader(bytes))
  return Object.fromEntries(
    Object.entries(layers).map(([name, layer]) => [
      name,
      Array.from({ length: layer.length }, (_, place) => {
        const feature = layer.feature(place)
        const { id, properties, type } = feature
        return { id, properties: { ...properties }, type, geometry: feature.loadGeometry() }
      }),
    ]),
  )
}

/** Blocks reads of the table until the returned function is called. */
export async function lockTable(
  { keys, user }: Setup,
  table: string,
  schema = 'public',
): Promise<() => Promise<void>> {
  const url = new URL(keys.adminUrl)
  url.pathname = `/${user.account.database}`
  const client = new pg.Client({ connectionString: url.href })
  // If the test fails before the lock is given back, the end of its database ends this connection.
  client.on('error', () => undefined)
  await client.connect()
  await client.query(`begin; lock table ${schema}.${table} in access exclusive mode`)
  return () => client.end()
}
