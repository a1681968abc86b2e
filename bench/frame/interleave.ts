import type { Contest } from './benchmark.ts'

export type Samples = Readonly<{ baseline: readonly number[]; candidates: readonly (readonly number[])[] }>

/**
 * Measures baseline and candidates in turn, round after round, every other round backwards, so that neither a drift
 * of the machine nor the order favours anyone. The first round warms up and does not count.
 */
export async function interleave(
  contest: Contest,
  rounds: number,
  told: (round: number) => void,
): Promise<Samples> {
  const contenders = [contest.baseline, ...contest.candidates]
  const samples: number[][] = contenders.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    told(round)
    const places = contenders.map((_, place) => place)
    if (round % 2 === 1) places.reverse()
    for (const place of places) {
      const value = await contenders[place]!.measure()
      if (round > 0) samples[place]!.push(value)
    }
  }
  const [baseline = [], ...candidates] = samples
  return { baseline, candidates }
}
