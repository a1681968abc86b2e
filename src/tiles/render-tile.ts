import type { TilePlace } from '../contract/documents.ts'
import { AppError, errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import type { WireRow } from '../postgres/wire/collected-rows.ts'
import type { OwnText } from '../postgres/wire/extended-messages.ts'
import { isCancel, toClientError, type WireError } from '../postgres/wire/wire-error.ts'
import { type TimeLimit, wholeTimeout } from '../statements/time-limits.ts'
import { type Layer, layerSql, type Property, readFoundLayer } from './tile-layer.ts'
import {
  arePointsSql,
  type Box,
  type TileContent,
  tableGrid,
  tableOf,
  tileSql,
  truncatedTileSql,
} from './tile-sql.ts'

export type LayerRequest = Readonly<{
  layer: Layer
  /** The name of the layer in the tile. */
  name: string
  properties: readonly Property[]
  /** As in `DrawnLayer`. */
  box?: Box | null
}>

export type TileLimits = Readonly<{ maxFeatures: number; maxBytes: number }>

export type DrawnTile = Readonly<{
  bytes: Buffer
  /** The layers that had too many features, with the number of those shown. */
  truncated: readonly Readonly<{ name: string; kept: number }>[]
}>

/** `layers`: as the tile's own snapshot sees them. */
export type RenderedTile = DrawnTile & Readonly<{ layers: readonly Layer[] }>

/**
 * Makes a tile in one snapshot, which cannot write; that of one layer with one message. Leaves the transaction open: the session is cleaned after
 * use.
 */
export async function renderTile(
  session: Session,
  requests: readonly LayerRequest[],
  place: TilePlace,
  limits: TileLimits,
): Promise<RenderedTile> {
  const contents = requests.map((request) => contentOf(request, place, limits))
  const begin = 'begin isolation level repeatable read read only'
  // After the tile, which has locked the tables: now none can be rewritten.
  const look = requests.map(({ layer }) => layerSql(layer, layer))
  if (contents.length > 1) {
    await session.ask([begin])
    const drawn = await finishTile(session, contents, limits.maxBytes)
    return { ...drawn, layers: foundLayers(requests, await session.ask(look)) }
  }
  const [, tile, ...found] = await session.ask([begin, ...contents.map(tileText), ...look])
  const first = readTileRow(tile!)
  return {
    ...(await finishTile(session, contents, limits.maxBytes, { first })),
    layers: foundLayers(requests, found),
  }
}

const foundLayers = (requests: readonly LayerRequest[], answers: readonly (readonly WireRow[])[]) =>
  requests.map(({ layer }, at) => readFoundLayer(layer, layer, answers[at]![0]))

const contentOf = (request: LayerRequest, place: TilePlace, limits: TileLimits): TileContent => ({
  ...request,
  ...limits,
  layer: { ...request.layer, from: tableOf(request.layer), box: request.box ?? null },
  place,
  grid: tableGrid,
})

/** Which of the layers cannot be made; undefined if each can. */
export async function findFailedLayer(
  session: Session,
  requests: readonly LayerRequest[],
  place: TilePlace,
  limits: TileLimits,
): Promise<number | undefined> {
  if (requests.length === 1) return 0
  for (const [index, request] of requests.entries()) {
    await session.query('rollback; begin isolation level repeatable read read only')
    const sql = tileSql(contentOf(request, place, limits))
    if (
      await session.query(sql).then(
        () => false,
        () => true,
      )
    )
      return index
  }
  return undefined
}

/**
 * Makes the layers of a tile one after the other, each with the bytes that are left for it, so that a tile never takes more
 * memory than its limit. `first`: what `tileSql` has answered for the first. `left`: of the bytes, if other parts of the tile
 * have taken some.
 */
export async function finishTile(
  session: Session,
  contents: readonly TileContent[],
  maxBytes: number,
  { first, left: given = maxBytes }: Readonly<{ first?: TileRow; left?: number }> = {},
): Promise<DrawnTile> {
  const parts: LayerPart[] = []
  let left = given
  for (const [at, content] of contents.entries()) {
    const sized = { ...content, maxBytes: left }
    const row = (at === 0 && first) || (await askTile(session, tileText(sized)))
    const part = await partOf(session, sized, row, maxBytes)
    left -= part.tile.length
    parts.push(part)
  }
  const bytes = Buffer.concat(parts.map(({ tile }) => tile))
  const truncated = parts.flatMap(({ kept }, at) =>
    kept === null ? [] : [{ name: contents[at]!.name, kept }],
  )
  return { bytes, truncated }
}

/** The bytes of a tile come as they are: as text they would be twice as many. */
export const tileText = (content: TileContent): OwnText => ({ sql: tileSql(content), isBinary: true })

type LayerPart = Readonly<{ tile: Buffer; kept: number | null }>
type TileRow = Readonly<{ found: number; bytes: number | null; tile: Buffer | null }>

const askTile = async (session: Session, text: OwnText) => readTileRow((await session.ask([text]))[0]!)

/** The answer to `tileText`. */
export function readTileRow([row]: readonly WireRow[]): TileRow {
  const [found, bytes, tile] = row!
  return { found: Number(found!.readBigInt64BE()), bytes: bytes?.readInt32BE() ?? null, tile: tile! }
}

/** `limit`: of the whole tile. */
async function partOf(
  session: Session,
  content: TileContent,
  whole: TileRow,
  limit: number,
): Promise<LayerPart> {
  const { maxFeatures } = content
  if (whole.found <= maxFeatures) return { tile: tileOf(whole, content, limit), kept: null }
  const points = await session.query<{ are_points: boolean }>(arePointsSql(content))
  const sql = truncatedTileSql(content, points.rows[0]!.are_points)
  const row = await askTile(session, { sql, isBinary: true })
  return { tile: tileOf(row, content, limit), kept: row.found }
}

function tileOf({ bytes, tile }: TileRow, { maxBytes }: TileContent, limit: number): Buffer {
  if (bytes !== null && bytes > maxBytes) throw errors.tileTooLarge(limit)
  return tile ?? noBytes
}

const noBytes = Buffer.alloc(0)

/** The table was changed after its look-up: the next look-up tells what is left of it. */
export const isOvertaken = (error: unknown) =>
  hasSqlstate(error, sqlstate.undefinedTable, sqlstate.undefinedColumn, sqlstate.insufficientPrivilege) ||
  hasSqlstate(error, sqlstate.undefinedSchema, sqlstate.internalError, sqlstate.wrongObjectType)

/** The error for the client when the query fails. */
export function tileError(error: unknown, time: TimeLimit): AppError {
  if (error instanceof AppError) return error
  const { code, file, message = '' } = error as Partial<Record<'code' | 'file' | 'message', string>>
  if (!isCancel({ sqlstate: code, file } as WireError)) return toClientError(error)
  return message.includes('statement timeout') ? wholeTimeout(time) : errors.statementCancelled(error)
}
