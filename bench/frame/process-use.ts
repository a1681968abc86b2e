import { readFileSync } from 'node:fs'

/** The use of a process so far, from /proc. */
export type ProcessUse = Readonly<{ cpuSeconds: number; rssBytes: number }>

const ticksPerSecond = 100
const pageBytes = 4096

export function processUse(pid: number): ProcessUse {
  const { own, rssBytes } = readStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  return { cpuSeconds: own, rssBytes }
}

/** Of a process or a thread: seconds on a CPU, its own and those of the children it has waited for, and its memory. */
export function readStat(text: string): Readonly<{ own: number; children: number; rssBytes: number }> {
  const fields = text.split(') ')[1]!.split(' ').map(Number)
  const seconds = (at: number) => (fields[at]! + fields[at + 1]!) / ticksPerSecond
  return { own: seconds(11), children: seconds(13), rssBytes: fields[21]! * pageBytes }
}

/** CPU seconds of the commands that `work` runs to their end. */
export async function childCpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const endedChildren = () => readStat(readFileSync('/proc/self/stat', 'latin1')).children
  const before = endedChildren()
  await work()
  return endedChildren() - before
}

/** Follows a process: its CPU time since the start, and its peak memory. */
export class ProcessSampler {
  readonly #pid: number
  readonly #before: ProcessUse
  readonly #timer: NodeJS.Timeout
  #peakRss: number

  constructor(pid: number, everyMs = 50) {
    this.#pid = pid
    this.#before = processUse(pid)
    this.#peakRss = this.#before.rssBytes
    this.#timer = setInterval(() => this.#look(), everyMs)
  }

  stop(): Readonly<{ cpuSeconds: number; peakRssMb: number; rssGrowthMb: number }> {
    clearInterval(this.#timer)
    this.#look()
    const { cpuSeconds } = processUse(this.#pid)
    return {
      cpuSeconds: cpuSeconds - this.#before.cpuSeconds,
      peakRssMb: this.#peakRss / 1024 ** 2,
      rssGrowthMb: (this.#peakRss - this.#before.rssBytes) / 1024 ** 2,
    }
  }

  #look(): void {
    this.#peakRss = Math.max(this.#peakRss, processUse(this.#pid).rssBytes)
  }
}
