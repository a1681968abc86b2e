import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { cancelMove } from './cancel-move.ts'
import { carryOut } from './carry-out.ts'
import { type Drain, drainHost } from './drain-host.ts'
import type { Move } from './move.ts'
import { unfinishedMoves } from './move-store.ts'
import { requestMove, type Wanted } from './request-move.ts'

/** Carries out the moves of this installation, one after the other, and ends those of dead processes. */
export class Moves {
  readonly #installation: Installation
  readonly #stopping = new AbortController()
  #waking = new AbortController()
  #loop: Promise<void> = Promise.resolve()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  /** Answers at once. Whoever is free carries it out. */
  async request(wanted: Wanted, host: string): Promise<Move> {
    const move = await requestMove(this.#installation, wanted, host)
    this.#waking.abort()
    return move
  }

  /** The same for all that a host has. */
  async drain(host: string, to?: string): Promise<Drain> {
    const drain = await drainHost(this.#installation, host, to)
    this.#waking.abort()
    return drain
  }

  /** Answers at once, too. */
  async cancel(id: number): Promise<Move> {
    const move = await cancelMove(this.#installation, id)
    this.#waking.abort()
    return move
  }

  start(): void {
    this.#loop = this.#run()
  }

  /** A move under way is undone. */
  async stop(): Promise<void> {
    this.#stopping.abort(errors.moveFailed('The service was stopped'))
    this.#waking.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal: stopped } = this.#stopping
    while (!stopped.aborted) {
      this.#waking = new AbortController()
      await this.#carryOutAll(stopped)
      if (!stopped.aborted)
        await sleep(everyMs, undefined, { signal: this.#waking.signal, ref: false }).catch(() => undefined)
    }
  }

  /** A move that fails does not delay the others. */
  async #carryOutAll(stopped: AbortSignal): Promise<void> {
    const { databases, log } = this.#installation
    const warn = (error: unknown) =>
      log.warn({ err: error }, 'a move cannot be ended now: trying again later')
    const ids = await unfinishedMoves(databases.control).catch(warn)
    for (const id of ids ?? [])
      if (!stopped.aborted) await carryOut(this.#installation, id, stopped).catch(warn)
  }
}

/** How long the user of a killed process waits, and a move that another process has recorded. */
const everyMs = 5_000
