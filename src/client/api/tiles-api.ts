import type { ListedTiles, TileJson, TilePlace } from '../../contract/documents.ts'
import { pathOf } from '../../contract/operations.ts'
import type { Connection } from '../http/send.ts'
import { sendForBytes, sendForJson } from '../http/send-checked.ts'

export type TileOptions = Readonly<{
  /** Names of the columns to show, separated by commas; empty: none. */
  columns?: string
  /** Features of a table in a tile. */
  limit?: number
  /** Seconds for which a browser need not ask again. */
  max_age?: number
}>

/** What MapLibre calls before it sends a request. */
export type TransformRequest = (url: string) => { url: string; headers?: Record<string, string> }

export function tilesOf(connection: Connection, name: string) {
  const { baseUrl, authorization } = connection
  return {
    /** The tables with a geometry that the key may read. */
    list: () => sendForJson<ListedTiles>(connection, 'listTiles', { parameters: { name } }),
    /** The TileJSON of a table, or of several as `a,b`. */
    read: (table: string, query: TileOptions = {}) =>
      sendForJson<TileJson>(connection, 'readTileJson', { parameters: { name, table }, query }),
    /** A vector tile; empty if nothing is there. */
    tile: async (table: string, { z, x, y }: TilePlace, query: TileOptions = {}) => {
      const parameters = { name, table, z: String(z), x: String(x), y: `${y}.mvt` }
      return joined(await sendForBytes(connection, 'readTile', { parameters, query }))
    },
    /** The address of the TileJSON of a table, without the token: for MapLibre together with `transformRequest`. */
    url: (table: string) => `${baseUrl}${pathOf('readTileJson', { name, table })}`,
    /** For MapLibre: sends the key in a header, and only to this service, so that it stands in no address. */
    transformRequest: ((url) => {
      const key = authorization()
      return key !== undefined && url.startsWith(`${baseUrl}/`)
        ? { url, headers: { Authorization: key } }
        : { url }
    }) satisfies TransformRequest as TransformRequest,
  }
}

export async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array<ArrayBuffer>[] = []
  for await (const piece of pieces) all.push(piece as Uint8Array<ArrayBuffer>)
  return new Uint8Array(await new Blob(all).arrayBuffer())
}
