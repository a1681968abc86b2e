/** How often each fault may still happen, and all of them together. */
export type Bounds<Chance extends string> = Readonly<Record<Chance | 'together', number>>

/** Each of the given chances once, up to this many together. */
export function boundsOf<Chance extends string>(
  chances: readonly Chance[],
  given: readonly Chance[],
  together: number,
): Bounds<Chance> {
  const each = chances.map((chance) => [chance, given.includes(chance) ? 1 : 0])
  return { ...Object.fromEntries(each), together }
}

/** Uses up one chance. After the last one all others are dropped, so that more states are equal. */
export function spent<Chance extends string>(left: Bounds<Chance>, chance: Chance): Bounds<Chance> {
  const together = left.together - 1
  if (together > 0) return { ...left, [chance]: left[chance] - 1, together }
  return Object.fromEntries(Object.keys(left).map((each) => [each, 0])) as Bounds<Chance>
}
