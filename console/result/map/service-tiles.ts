import type { LayergroupDocument } from '../../../src/contract/documents.ts'
import type { OperationId } from '../../../src/contract/operations.ts'
import { type ApiCall, request, requestJson } from '../../api/request.ts'
import type { TileAt } from '../../geo/rows-sql.ts'

/** `isTruncated`: the tile has more rows than it shows. */
export type TileBytes = Readonly<{ bytes: ArrayBuffer; isTruncated: boolean }>

type TileCall = Pick<ApiCall, 'as' | 'signal' | 'query' | 'parameters'>

/** A vector tile of a table, without properties. `table`: `schema.name`. */
export const readTableTile = (table: string, at: TileAt, limit: number, call: TileCall = {}) =>
  readTile('readTile', at, { ...call, parameters: { table }, query: { columns: '', limit } })

export const readMapTile = (layergroupid: string, at: TileAt, call: TileCall = {}) =>
  readTile('readMapTile', at, { ...call, parameters: { layergroupid } })

async function readTile(operation: OperationId, { z, x, y }: TileAt, call: TileCall): Promise<TileBytes> {
  const parameters = { ...call.parameters, z: String(z), x: String(x), y: `${y}.mvt` }
  const { body, header } = await request(operation, { ...call, parameters })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of body) chunks.push(new Uint8Array(chunk))
  const bytes = await new Blob(chunks).arrayBuffer()
  return { bytes, isTruncated: header('carto-tile-truncated') !== undefined }
}

/** Creates a map of SQL, which the service keeps for a day. */
export const makeMap = (config: object, call: Pick<ApiCall, 'as' | 'signal'> = {}) =>
  requestJson<LayergroupDocument>('createMap', { ...call, json: config, isRepeatable: true })
