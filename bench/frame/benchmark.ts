import type { Frame } from './frame.ts'

/** Does the thing once and answers a number in the benchmark's unit. Called many times. */
export type Measure = () => Promise<number>

/** One row group of docs/performance.md. A file bench/<something>.bench.ts exports a list `benchmarks` of them. */
export type Benchmark = Readonly<{
  /** Selects it on the command line, and keys its results. */
  name: string
  /** What is compared, in words. */
  title: string
  unit: 's' | 'ms' | 'requests/s' | 'rows/s' | 'MB/s' | 'jobs/s'
  /** Interleaved pairs; the first one warms up and does not count. */
  rounds: number
  /** Makes everything ready; what must be undone goes to frame.after. */
  prepare: (frame: Frame) => Promise<Contest>
}>

export type Contest = Readonly<{
  baseline: Contender
  candidates: readonly Contender[]
}>

export type Contender = Readonly<{ name: string; measure: Measure }>

/** The seconds that `work` takes. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}
