import { readFileSync } from 'node:fs'

/** What a process has used so far, from /proc. */
export type ProcessUse = Readonly<{ cpuSeconds: number; rssBytes: number }>

const ticksPerSecond = 100
const pageBytes = 4096

export function processUse(pid: number): ProcessUse {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    rssBytes: Number(fields[21]) * pageBytes,
  }
}

/** CPU seconds of the commands that `work` runs to their end. */
export async function childCpuSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = endedChildren()
  await work()
  return endedChildren() - before
}

function endedChildren(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
}

/** Follows a process: the CPU it used since the start, and the most memory it had. */
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
