import assert from 'node:assert/strict'
import type { LayergroupDocument } from '../../../src/contract/documents.ts'
import type { TestUser } from '../service/setup.ts'
import { askMaps, type TileCall, type TileReply } from '../tiles/tile-api.ts'

export type MapReply = TileReply & Readonly<{ body: LayergroupDocument }>

/** Instantiates a map by POST. */
export const askForMap = (user: TestUser, config: unknown, call: TileCall = {}) =>
  askMaps(user, '/api/v1/map', { ...call, body: config }) as Promise<MapReply>

/** The same for a map that must succeed. */
export async function mapOf(
  user: TestUser,
  config: unknown,
  call: TileCall = {},
): Promise<LayergroupDocument> {
  const { status, body, bytes } = await askForMap(user, config, call)
  assert.equal(status, 200, bytes.toString())
  return body
}

/** A map of one layer. */
export const layerOf = (sql: string, options: Readonly<Record<string, unknown>> = {}) => ({
  layers: [{ options: { sql, ...options } }],
})

/** A tile of a map, which must succeed. */
export async function mapTile(
  user: TestUser,
  { layergroupid }: LayergroupDocument,
  path: string,
  call: TileCall = {},
): Promise<TileReply> {
  const reply = await askMapTile(user, layergroupid, path, call)
  assert.ok([200, 204].includes(reply.status), `${reply.status} ${reply.bytes}`)
  return reply
}

export const askMapTile = (user: TestUser, layergroupid: string, path: string, call: TileCall = {}) =>
  askMaps(user, `/api/v1/map/${layergroupid}${path}`, call)
