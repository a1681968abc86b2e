import type { Browser } from 'playwright-core'

export type LongestTask = Readonly<{
  /** On the CPU: what else the machine does meanwhile does not count. */
  cpuMs: number
  ms: number
  /** The longest part of it, in the words of the browser: `Layout`, `FunctionCall`. */
  part: string
}>

/**
 * The longest task of the main thread of a page while `act` runs. Read from a trace, which has tasks of every length and their time on the
 * CPU: the browser's `longtask` entries begin at 50 ms, so that a page without one would have no figure.
 */
export async function longestTask(browser: Browser, act: () => Promise<unknown>): Promise<LongestTask> {
  await browser.startTracing(undefined, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'],
  })
  let trace: Buffer | undefined
  try {
    await act()
  } finally {
    trace = await browser.stopTracing()
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  )
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && mainThreads.has(threadOf(event)))
  const [longest] = tasks.toSorted((a, b) => (b.tdur ?? 0) - (a.tdur ?? 0))
  if (!longest) throw new Error('The trace has no task of a page')
  const isInside = ({ ts, dur = 0 }: TraceEvent) =>
    ts >= longest.ts && ts + dur <= longest.ts + (longest.dur ?? 0)
  const parts = traceEvents
    .filter((event) => event !== longest && threadOf(event) === threadOf(longest) && isInside(event))
    .filter(({ name }) => name !== 'RunTask')
    .toSorted((a, b) => (b.dur ?? 0) - (a.dur ?? 0))
  return {
    ms: (longest.dur ?? 0) / 1000,
    cpuMs: (longest.tdur ?? 0) / 1000,
    part: parts[0]?.name ?? 'nothing that the browser names',
  }
}

/** Times are in microseconds. */
type TraceEvent = Readonly<{
  name: string
  pid: number
  tid: number
  ts: number
  dur?: number
  /** On the CPU. */
  tdur?: number
  args?: Readonly<{ name?: string }>
}>
