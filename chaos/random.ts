/** Repeatable random choices: the same seed gives the same numbers. */
export type Random = Readonly<{
  /** From 0 up to 1. */
  next: () => number
  between: (low: number, high: number) => number
  isLucky: (chance: number) => boolean
  /** Eight hex digits. */
  hex: () => string
  pick: <T>(values: readonly T[]) => T
  /** One of the names, by weight. */
  weighted: <Name extends string>(weights: Readonly<Record<Name, number>>) => Name
}>

/** mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  return {
    next,
    between: (low, high) => low + next() * (high - low),
    isLucky: (chance) => next() < chance,
    hex: () =>
      Math.floor(next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    pick,
    weighted: <Name extends string>(weights: Readonly<Record<Name, number>>) => {
      const names = Object.keys(weights) as Name[]
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0)
      for (const name of names) {
        left -= weights[name]
        if (left < 0) return name
      }
      return names.at(-1)!
    },
  }
}
