import type { Principal } from '../../auth/account.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { around, type Bounds, boundsOf } from '../../tiles/describe-layers.ts'
import type { Tiles } from '../../tiles/tiles.ts'
import { wholeWorld } from '../layer-sql.ts'
import type { InstantiatedMap } from '../maps.ts'

/** The box around the rows of a map; null if it is not known. */
export async function boundsOfMap(
  tiles: Tiles,
  principal: Principal,
  { layers }: InstantiatedMap,
  gone: AbortLike,
): Promise<Bounds | null> {
  return tiles.run(principal, gone, async (session) => {
    const boxes: (Bounds | null)[] = []
    for (const { plan, estimatedRows } of layers.slice(0, mostLookedAt))
      if (plan) boxes.push(await boundsOf(session, { ...plan.rows(wholeWorld), estimatedRows }))
    return around(boxes)
  })
}

/** Each may take two seconds. */
const mostLookedAt = 5
