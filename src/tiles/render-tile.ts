import { AppError, errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { isCancel, toClientError, type WireError } from '../postgres/wire/wire-error.ts'
import { type TimeLimit, wholeTimeout } from '../statements/time-limits.ts'
import { type Layer, lookUpLayerAgain, type Property } from './tile-layer.ts'
import { type TilePlace, tileSql, truncatedTileSql } from './tile-sql.ts'

export type LayerRequest = Readonly<{
  layer: Layer
  /** Of the layer in the tile. */
  name: string
  properties: readonly Property[]
}>

export type TileLimits = Readonly<{ maxFeatures: number; maxBytes: number }>

export type RenderedTile = Readonly<{
  bytes: Buffer
  /** The layers that had too many features, with the number of those shown. */
  truncated: readonly Readonly<{ name: string; kept: number }>[]
  /** The layers as the tile's own snapshot sees them. */
  layers: readonly Layer[]
}>

/** Makes a tile in one snapshot, which cannot write. Leaves the transaction open: the session is cleaned after use. */
export async function renderTile(
  session: Session,
  requests: readonly LayerRequest[],
  place: TilePlace,
  limits: TileLimits,
): Promise<RenderedTile> {
  await session.query('begin isolation level repeatable read read only')
  const parts: LayerPart[] = []
  for (const request of requests) parts.push(await renderLayer(session, request, place, limits))
  const bytes = Buffer.concat(parts.map(({ tile }) => tile))
  if (bytes.length > limits.maxBytes) throw errors.tileTooLarge(limits.maxBytes)
  // After the tile, which has locked the tables: now none can be rewritten.
  const layers: Layer[] = []
  for (const { layer } of requests) layers.push(await lookUpLayerAgain(session, layer))
  const truncated = parts.flatMap(({ kept }, place) =>
    kept === null ? [] : [{ name: requests[place]!.name, kept }],
  )
  return { bytes, truncated, layers }
}

type LayerPart = Readonly<{ tile: Buffer; kept: number | null }>
type TileRow = { found: string; dimension: number | null; bytes: number | null; tile: Buffer | null }

async function renderLayer(
  session: Session,
  { layer, name, properties }: LayerRequest,
  place: TilePlace,
  { maxFeatures, maxBytes }: TileLimits,
): Promise<LayerPart> {
  const content = { layer, properties, place, maxFeatures, maxBytes }
  const whole = await askOne(session, tileSql(content), name)
  if (Number(whole.found) <= maxFeatures) return { tile: tileOf(whole, maxBytes), kept: null }
  const some = await askOne(session, truncatedTileSql(content, whole.dimension === 0), name)
  return { tile: tileOf(some, maxBytes), kept: Number(some.found) }
}

async function askOne(session: Session, text: string, name: string): Promise<TileRow> {
  const { rows } = await session.query<TileRow>(text, [name])
  return rows[0]!
}

function tileOf({ bytes, tile }: TileRow, maxBytes: number): Buffer {
  if (bytes !== null && bytes > maxBytes) throw errors.tileTooLarge(maxBytes)
  return tile ?? noBytes
}

const noBytes = Buffer.alloc(0)

/** The table was changed after its look-up: the next look-up tells what is left of it. */
export const isOvertaken = (error: unknown) =>
  hasSqlstate(error, sqlstate.undefinedTable, sqlstate.undefinedColumn, sqlstate.insufficientPrivilege) ||
  hasSqlstate(error, sqlstate.undefinedSchema, sqlstate.internalError, sqlstate.wrongObjectType)

/** An error of the query as the client is told of it. */
export function tileError(error: unknown, time: TimeLimit): AppError {
  if (error instanceof AppError) return error
  const { code, file, message = '' } = error as Partial<Record<'code' | 'file' | 'message', string>>
  if (!isCancel({ sqlstate: code, file } as WireError)) return toClientError(error)
  return message.includes('statement timeout') ? wholeTimeout(time) : errors.statementCancelled(error)
}
