import type { Entry, Measured, Result } from './entry.ts'
import { describeMachine } from './machine.ts'
import { ResourceSampler } from './resource-use.ts'

/** Measures the pairs, the order changing each time, and returns medians with their spread. */
export async function measure(entry: Entry): Promise<Result> {
  const measured = await entry.prepare()
  try {
    const sampler = new ResourceSampler(measured.watched ?? nobody)
    const pairs = await measurePairs(entry, measured, sampler)
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
      use: sampler.use(),
      ...(measured.limit !== undefined && { limit: measured.limit }),
      command: `npm run bench -- ${entry.name}`,
      date: new Date().toISOString().slice(0, 10),
      machine: await describeMachine(),
    }
  } finally {
    await measured.tearDown()
  }
}

type Pair = Readonly<{ baseline: number; ours: number }>

async function measurePairs(
  entry: Entry,
  { baseline, ours }: Measured,
  sampler: ResourceSampler,
): Promise<readonly Pair[]> {
  // The first pair warms up both and is not counted.
  await oursFirst(baseline, ours)
  const pairs: Pair[] = []
  for (let round = 1; round <= entry.pairs; round++) {
    const pair = await measurePair(baseline, () => sampler.during(ours), round, entry.slices)
    pairs.push(pair)
    const figures = [figure(pair.baseline), figure(pair.ours), (pair.ours / pair.baseline).toFixed(3)]
    process.stderr.write(`  ${entry.name} ${round}/${entry.pairs}: ${figures.join(' ')}\n`)
  }
  return pairs
}

type Measurement = () => Promise<number>

/** The means of its slices. */
async function measurePair(
  baseline: Measurement,
  ours: Measurement,
  round: number,
  slices = 1,
): Promise<Pair> {
  const sum = { baseline: 0, ours: 0 }
  for (let slice = 0; slice < slices; slice++) {
    const turn = (round + slice) % 2 === 0 ? baselineFirst : oursFirst
    const pair = await turn(baseline, ours)
    sum.baseline += pair.baseline
    sum.ours += pair.ours
  }
  return { baseline: sum.baseline / slices, ours: sum.ours / slices }
}

async function baselineFirst(measureBaseline: Measurement, measureOurs: Measurement): Promise<Pair> {
  const baseline = await measureBaseline()
  return { baseline, ours: await measureOurs() }
}

async function oursFirst(measureBaseline: Measurement, measureOurs: Measurement): Promise<Pair> {
  const ours = await measureOurs()
  return { ours, baseline: await measureBaseline() }
}

const nobody = () => ({ service: [], postgres: [] })

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

export async function medianOf(count: number, measureOne: () => Promise<number>): Promise<number> {
  const taken: number[] = []
  for (let turn = 0; turn < count; turn++) taken.push(await measureOne())
  return median(taken)
}

/** Both figures of a pair come from one run: the first one requested runs it. */
export function onceAPair<T>(run: () => Promise<T>): () => Promise<T> {
  let last: T | undefined
  return async () => {
    const known = last
    last = known === undefined ? await run() : undefined
    return known ?? last!
  }
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (percent / 100) * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low + (high - low) * (place - Math.floor(place))
}

/** The seconds that `work` takes. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
