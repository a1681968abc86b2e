import { setTimeout as sleep } from 'node:timers/promises'

/** Announces the phases of a run, with a time limit for each: a phase that hangs is reported by name. */
export class Phases {
  readonly #tell: (words: string) => void
  readonly #startedAt = performance.now()

  constructor(tell: (words: string) => void) {
    this.#tell = tell
  }

  /** `describe` says what is missing if the phase does not end. */
  async run<T>(name: string, limitMs: number, work: () => Promise<T>, describe = () => ''): Promise<T> {
    const seconds = (performance.now() - this.#startedAt) / 1000
    this.#tell(`${seconds.toFixed(1).padStart(7)} s  ${name}`)
    const isOver = new AbortController()
    const limit = sleep(limitMs, undefined, { signal: isOver.signal }).then(() => {
      throw new Error(`${name}: not over after ${limitMs / 1000} s ${describe()}`.trimEnd())
    })
    try {
      return await Promise.race([work(), limit])
    } finally {
      isOver.abort()
      // Nothing awaits it any more.
      limit.catch(() => undefined)
    }
  }
}
