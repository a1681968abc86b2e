import type { Principal } from '../auth/account.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import { sqlstateOf } from '../postgres/sqlstate.ts'
import type { Layer } from './tile-layer.ts'
import { boundsSql, tableOf } from './tile-sql.ts'
import type { LayersRequest, Tiles } from './tiles.ts'

/** In degrees: west, south, east, north. */
export type Bounds = readonly [number, number, number, number]

/** The layers of a request, and the box around them; null if it is not known. */
export async function describeLayers(
  tiles: Tiles,
  principal: Principal,
  request: LayersRequest,
  gone: AbortLike,
): Promise<Readonly<{ layers: readonly Layer[]; bounds: Bounds | null }>> {
  const layers = await tiles.lookUp(principal, request, { gone }, true)
  const boxes = await tiles.run(principal, gone, async (session) => {
    const found: (Bounds | null)[] = []
    for (const layer of layers) found.push(await boundsOf(session, { ...layer, from: tableOf(layer) }))
    return found
  })
  return { layers, bounds: around(boxes) }
}

type MetreBox = Record<'west' | 'south' | 'east' | 'north', number | null>

/** The bounds are a help: without them a client begins with the world. The tile tells what is wrong with the table. */
export async function boundsOf(
  session: Session,
  layer: Parameters<typeof boundsSql>[0],
): Promise<Bounds | null> {
  await session.query('begin isolation level repeatable read read only')
  await session.query(`set local statement_timeout = ${longestMs}`)
  try {
    const { rows } = await session.query<MetreBox>(boundsSql(layer))
    return inDegrees(rows[0]!)
  } catch (error) {
    if (!/^[0-9A-Z]{5}$/.test(sqlstateOf(error) ?? '')) throw error
    return null
  } finally {
    await session.query('rollback')
  }
}

const longestMs = 2_000

function inDegrees({ west, south, east, north }: MetreBox): Bounds | null {
  if (west === null || south === null || east === null || north === null) return null
  return [longitude(west), latitude(south), longitude(east), latitude(north)]
}

const radius = 6378137
const longitude = (x: number) => limited((x / radius) * (180 / Math.PI), 180)
const latitude = (y: number) => limited(Math.atan(Math.sinh(y / radius)) * (180 / Math.PI), 85.0511287798066)
const limited = (degrees: number, most: number) => Math.max(-most, Math.min(most, degrees))

/** Null: none is known. */
export function around(boxes: readonly (Bounds | null)[]): Bounds | null {
  const known = boxes.filter((box) => box !== null)
  if (known.length === 0) return null
  const least = (place: number) => Math.min(...known.map((box) => box[place]!))
  const most = (place: number) => Math.max(...known.map((box) => box[place]!))
  return [least(0), least(1), most(2), most(3)]
}
