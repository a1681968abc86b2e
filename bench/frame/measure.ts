import type { Entry, Result } from './entry.ts'
import { describeMachine } from './machine.ts'

/** Measures the pairs, each time the other one first, and answers medians with their spread. */
export async function measure(entry: Entry): Promise<Result> {
  const measured = await entry.prepare()
  try {
    const pairs: { baseline: number; ours: number }[] = []
    // The first pair warms up both and is not counted.
    for (let round = 0; round <= entry.pairs; round++) {
      const pair = round % 2 === 0 ? await baselineFirst(measured) : await oursFirst(measured)
      if (round === 0) continue
      pairs.push(pair)
      const ratio = (pair.ours / pair.baseline).toFixed(3)
      process.stderr.write(
        `  ${entry.name} ${round}/${entry.pairs}: ${figure(pair.baseline)} ${figure(pair.ours)} ${ratio}\n`,
      )
    }
    const ratios = pairs.map(({ baseline, ours }) => ours / baseline)
    return {
      name: entry.name,
      title: entry.title,
      baseline: entry.baseline,
      unit: entry.unit,
      aim: entry.aim,
      pairs: entry.pairs,
      baselineMedian: median(pairs.map(({ baseline }) => baseline)),
      oursMedian: median(pairs.map(({ ours }) => ours)),
      ratio: median(ratios),
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
      notes: (await measured.notes?.()) ?? '',
      command: `npm run bench -- ${entry.name}`,
      date: new Date().toISOString().slice(0, 10),
      machine: await describeMachine(),
    }
  } finally {
    await measured.tearDown()
  }
}

type Pair = { baseline: () => Promise<number>; ours: () => Promise<number> }

async function baselineFirst(measured: Pair) {
  const baseline = await measured.baseline()
  return { baseline, ours: await measured.ours() }
}

async function oursFirst(measured: Pair) {
  const ours = await measured.ours()
  return { ours, baseline: await measured.baseline() }
}

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (percent / 100) * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low + (high - low) * (place - Math.floor(place))
}

/** Seconds that `work` takes. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
