import type { Log } from '../log/log.ts'
import { settlesWithin } from '../waiting/settles-within.ts'

/** A started part of a process, and how to stop it. */
type StartedPart = Readonly<{ name: string; limitMs: number; stop: () => unknown }>

/** Stops parts in reverse order. A part that takes too long is logged and left behind. */
export class StartedParts {
  readonly #log: Log
  readonly #groups: StartedPart[][] = []
  #stopped: Promise<void> | undefined

  constructor(log: Log) {
    this.#log = log
  }

  push(part: StartedPart): void {
    this.#groups.push([part])
  }

  /** Is stopped at the same time as the previous one. */
  pushBeside(part: StartedPart): void {
    const group = this.#groups.at(-1)
    if (group) group.push(part)
    else this.push(part)
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#unwind()
    return this.#stopped
  }

  async #unwind(): Promise<void> {
    for (const group of this.#groups.reverse()) await Promise.all(group.map((part) => this.#stopPart(part)))
  }

  async #stopPart({ name, limitMs, stop }: StartedPart): Promise<void> {
    const stopped = Promise.resolve()
      .then(stop)
      .catch((error: unknown) => this.#log.error({ err: error, part: name }, 'stopping failed'))
    if (!(await settlesWithin(stopped, limitMs)))
      this.#log.warn({ part: name, limitMs }, 'stopping took too long')
  }
}
