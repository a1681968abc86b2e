import {
  type DashboardPart,
  gridColumns,
  maxPartRows,
  type PartPlace,
} from '../../src/contract/dashboards.ts'

/** The places of parts on the grid. Each is as far up as possible, and none overlaps another. */

export type Direction = 'left' | 'right' | 'up' | 'down'
type Placed = PartPlace & Readonly<{ id: string }>

/** Puts the part in another place or gives it another size. Parts in its way move down. */
export function placed<P extends Placed>(
  parts: readonly P[],
  id: string,
  to: Partial<PartPlace>,
): readonly P[] {
  return settled(
    parts.map((part) => (part.id === id ? { ...part, ...within({ ...part, ...to }) } : part)),
    id,
  )
}

/** One column to the side, or past the next part above or below. */
export function stepped<P extends Placed>(
  parts: readonly P[],
  id: string,
  direction: Direction,
): readonly P[] {
  const part = parts.find((one) => one.id === id)!
  if (direction === 'left') return placed(parts, id, { x: part.x - 1 })
  if (direction === 'right') return placed(parts, id, { x: part.x + 1 })
  const beside = parts.filter((one) => one.id !== id && sharesColumns(one, part))
  if (direction === 'up') {
    const above = beside.filter(({ y, h }) => y + h <= part.y)
    return above.length === 0 ? parts : placed(parts, id, { y: Math.max(...above.map(({ y }) => y)) })
  }
  const below = beside.filter(({ y }) => y >= part.y + part.h)
  return below.length === 0 ? parts : placed(parts, id, { y: Math.min(...below.map(({ y }) => y)) + 1 })
}

/** A place for a new part: in the last row if there is room, else below all others. */
export function freePlace(parts: readonly PartPlace[], w: number, h: number): PartPlace {
  const bottom = Math.max(0, ...parts.map((part) => part.y + part.h))
  for (let y = 0; y < bottom; y++)
    for (let x = 0; x + w <= gridColumns; x++)
      if (!parts.some((part) => isOver(part, { x, y, w, h }))) return { x, y, w, h }
  return { x: 0, y: bottom, w, h }
}

/** Moves every part as far up as possible. Of two that begin in the same row, `first` is placed before. */
function settled<P extends Placed>(parts: readonly P[], first: string): readonly P[] {
  const done: P[] = []
  const rank = ({ id }: P) => (id === first ? 0 : 1)
  const order = parts.toSorted((a, b) => a.y - b.y || rank(a) - rank(b) || a.x - b.x)
  for (const part of order) done.push({ ...part, y: highest(part, done) })
  return parts.map(({ id }) => done.find((part) => part.id === id)!)
}

function highest(part: PartPlace, others: readonly PartPlace[]): number {
  const isFree = (y: number) => y >= 0 && !others.some((other) => isOver(other, { ...part, y }))
  let { y } = part
  while (!isFree(y)) y++
  while (isFree(y - 1)) y--
  return y
}

function within({ x, y, w, h }: PartPlace): PartPlace {
  const width = limited(w, 1, gridColumns)
  return {
    x: limited(x, 0, gridColumns - width),
    y: Math.max(0, y),
    w: width,
    h: limited(h, 1, maxPartRows),
  }
}

const limited = (value: number, least: number, most: number) => Math.max(least, Math.min(most, value))

const sharesColumns = (one: PartPlace, other: PartPlace) =>
  one.x < other.x + other.w && other.x < one.x + one.w

const isOver = (one: PartPlace, other: PartPlace) =>
  sharesColumns(one, other) && one.y < other.y + other.h && other.y < one.y + one.h

/** The size of a new part of each kind. */
export const firstSizes: Readonly<Record<DashboardPart['as'], Pick<PartPlace, 'w' | 'h'>>> = {
  table: { w: 6, h: 6 },
  number: { w: 3, h: 2 },
  chart: { w: 6, h: 6 },
  map: { w: 6, h: 7 },
}
