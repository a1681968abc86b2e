import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { readStat } from './process-use.ts'

/** The processes other than the client, each with its children. */
export type Watched = Readonly<{ service: readonly number[]; postgres: readonly number[] }>

export type Party = (typeof parties)[number]

/** CPU seconds per second: of all threads of a party together, and of the busiest one. */
export type PartyUse = Readonly<{ all: number; busiest: number }>

export type ResourceUse = Readonly<
  Record<Party, PartyUse> & {
    /** The share of time in which a process waited for the disk. */
    disk: number
    cores: number
  }
>

/** Adds up the use of each party over the measurements of an entry, from /proc. */
export class ResourceSampler {
  readonly #watched: () => Watched
  readonly #all = nothing()
  readonly #busiest = nothing()
  #wall = 0
  #disk = 0

  constructor(watched: () => Watched) {
    this.#watched = watched
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    const before = look(this.#watched())
    const start = performance.now()
    // A backend that ends meanwhile is counted by its last sample.
    const seen = new Map(before.threads)
    const lookAgain = () => {
      const now = look(this.#watched())
      for (const [id, thread] of now.threads) seen.set(id, thread)
      return now
    }
    const timer = setInterval(lookAgain, lookEveryMs)
    try {
      return await work()
    } finally {
      clearInterval(timer)
      const after = lookAgain()
      this.#wall += (performance.now() - start) / 1000
      this.#disk += after.diskSeconds - before.diskSeconds
      for (const party of parties) {
        const ofOne = busiest(party, before.threads, seen)
        this.#busiest[party] += ofOne
        // The kernel counts processes and threads in ticks, which are not read at the same time.
        this.#all[party] += Math.max(ofOne, after.all[party] - before.all[party])
      }
    }
  }

  use(): ResourceUse {
    const each = (seconds: number) => Number((seconds / this.#wall).toFixed(2))
    const of = (party: Party) => ({ all: each(this.#all[party]), busiest: each(this.#busiest[party]) })
    return {
      service: of('service'),
      postgres: of('postgres'),
      client: of('client'),
      disk: each(this.#disk),
      cores: availableParallelism(),
    }
  }
}

/** Rarely: a sample reads hundreds of files while the load, in the same process, waits. */
const lookEveryMs = 5_000

export const parties = ['service', 'postgres', 'client'] as const
const nothing = (): Record<Party, number> => ({ service: 0, postgres: 0, client: 0 })

type Threads = ReadonlyMap<string, Readonly<{ party: Party; seconds: number }>>
type Look = Readonly<{ threads: Threads; all: Readonly<Record<Party, number>>; diskSeconds: number }>

function busiest(party: Party, before: Threads, after: Threads): number {
  const used = [...after].map(([id, thread]) =>
    thread.party === party ? thread.seconds - (before.get(id)?.seconds ?? 0) : 0,
  )
  return Math.max(0, ...used)
}

function look({ service, postgres }: Watched): Look {
  const threads = new Map<string, { party: Party; seconds: number }>()
  const all = nothing()
  const add = (party: Party, roots: readonly number[], except: readonly number[]) => {
    for (const pid of roots.flatMap((root) => family(root, except))) {
      const { own, children } = cpuSeconds(`/proc/${pid}/stat`)
      all[party] += own + children
      for (const task of tasksOf(pid)) {
        const { own } = cpuSeconds(`/proc/${pid}/task/${task}/stat`)
        threads.set(`${pid}/${task}`, { party, seconds: own })
      }
    }
  }
  add('service', service, [])
  add('postgres', postgres, [])
  add('client', [process.pid], [...service, ...postgres])
  return { threads, all, diskSeconds: diskSeconds() }
}

function family(pid: number, except: readonly number[]): number[] {
  if (except.includes(pid)) return []
  return [pid, ...childrenOf(pid).flatMap((child) => family(child, except))]
}

function childrenOf(pid: number): number[] {
  return tasksOf(pid).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  )
}

/** None for a thread that has ended meanwhile. */
function cpuSeconds(statFile: string): Readonly<{ own: number; children: number }> {
  const text = read(statFile)
  return text ? readStat(text) : { own: 0, children: 0 }
}

/** From the kernel's pressure stall information, if available. */
function diskSeconds(): number {
  const [, micros] = /^some .*total=(\d+)/.exec(read('/proc/pressure/io')) ?? []
  return Number(micros ?? 0) / 1e6
}

/** Empty if the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}
