import { LRUCache } from 'lru-cache'
import type { TilePlace } from '../contract/documents.ts'
import type { Session } from '../postgres/session.ts'
import { sqlstateOf } from '../postgres/sqlstate.ts'
import type { Geometry } from './tile-layer.ts'
import { type Box, boxSql, isBoxed } from './tile-sql.ts'

/** The boxes around tiles in other SRIDs, as PROJ tells them. */
export class TileBoxes {
  readonly #known = new LRUCache<string, { box: Box | null }>({ max: 20_000 })

  /** Null if rows have to be transformed to tell whether they are in the tile. */
  async find(session: Session, place: TilePlace, geometry: Geometry): Promise<Box | null> {
    if (!isBoxed(place, geometry)) return null
    const { hostId, database } = session.target
    const key = `${hostId} ${database} ${geometry.srid} ${place.z}/${place.x}/${place.y}`
    const known = this.#known.get(key) ?? { box: await readBox(session, place, geometry.srid) }
    this.#known.set(key, known)
    return known.box
  }
}

type BoxRow = Record<'west' | 'south' | 'east' | 'north', number>

async function readBox(session: Session, place: TilePlace, srid: number): Promise<Box | null> {
  try {
    const { rows } = await session.query<BoxRow>(boxSql(place, srid))
    const [row] = rows
    if (!row) return null
    const box = [row.west, row.south, row.east, row.north] as const
    return box.every(Number.isFinite) ? box : null
  } catch (error) {
    // The projection does not reach this tile, or is not known.
    if (!projectionFailures.has(sqlstateOf(error) ?? '')) throw error
    return null
  }
}

/** Internal error, and a wrong value. */
const projectionFailures: ReadonlySet<string> = new Set(['XX000', '22023'])
