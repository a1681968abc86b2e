import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { around, type Bounds, boundsOf } from '../../tiles/describe-layers.ts'
import type { Tiles } from '../../tiles/tiles.ts'
import { wholeWorld } from '../layer-sql.ts'
import type { InstantiatedMap } from '../maps.ts'

/** The box around the rows of a map; null if it is not known. */
export async function boundsOfMap(
  tiles: Tiles,
  { layers, readerOf }: InstantiatedMap,
  gone: AbortLike,
): Promise<Bounds | null> {
  const boxes: (Bounds | null)[] = []
  for (const { layer, plan, estimatedRows } of layers.slice(0, mostLookedAt)) {
    if (!plan) continue
    const rows = { ...plan.rows(wholeWorld), estimatedRows }
    boxes.push(await tiles.run(readerOf(layer), gone, (session) => boundsOf(session, rows)))
  }
  return around(boxes)
}

/** Each may take two seconds. */
const mostLookedAt = 5
