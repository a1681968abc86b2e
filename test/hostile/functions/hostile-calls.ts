import type { Executable } from './executable.ts'
import { hostileValues } from './hostile-values.ts'

/** Numbers from 0 to 1, determined by the seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A call with a hostile value for each argument, as one statement. */
export function hostileCall({ name, types, kind }: Executable, random: () => number): string {
  const chosen = types.map((type) => {
    const values = hostileValues(type)
    return values[Math.floor(random() * values.length)]!
  })
  const list = chosen.join(', ')
  // The direct arguments of an ordered-set aggregate come first, then the ordered ones.
  if (kind === 'ordered')
    return `select ${name}(${chosen.slice(0, -1).join(', ')}) within group (order by ${chosen.at(-1) ?? '1'}) from ${threeRows}`
  if (kind === 'aggregate') return `select ${name}(${list || '*'}) from ${threeRows}`
  if (kind === 'window') return `select ${name}(${list}) over () from ${threeRows}`
  if (kind === 'procedure') return `call ${name}(${list})`
  return `select ${name}(${list})`
}

const threeRows = 'pg_catalog.generate_series(1, 3)'
