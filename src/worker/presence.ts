import { hostname } from 'node:os'
import type { ClientBase } from 'pg'
import { queueChannel } from '../jobs/queue-store.ts'
import { beat, registerWorker, removeWorker, takePresence } from '../jobs/worker-store.ts'
import type { Log } from '../log/log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { Listener } from '../postgres/control/listener.ts'

export type PresenceEvents = Readonly<{
  /** A notification on the queue's channel arrived, or may have been missed. */
  onNews: (message: string | undefined) => void
  /** The others have declared this worker dead: its jobs are no longer its own. */
  onDeath: () => void
}>

/**
 * The one connection that shows a worker is alive: it holds the lock of the worker's id, sends the heartbeat and
 * listens to the queue. If lost, it reconnects with the same id, unless the others have declared the worker dead.
 */
export class Presence {
  readonly #events: PresenceEvents
  readonly #listener: Listener
  #id: number | undefined
  #hasLock = false

  constructor(control: ControlPool, log: Log, events: PresenceEvents) {
    this.#events = events
    this.#listener = new Listener(control, log, {
      channel: queueChannel,
      everyMs: beatMs,
      answerMs: beatMs,
      onConnect: (client) => this.#identify(client),
      onMessage: (message) => events.onNews(message),
      onRound: (client) => this.#beat(client),
      onStop: (client) => removeWorker(client, this.#id!),
    })
  }

  get id(): number | undefined {
    return this.#id
  }

  get isConnected(): boolean {
    return this.#listener.isConnected
  }

  start(): Promise<void> {
    return this.#listener.listen()
  }

  stop(): Promise<void> {
    return this.#listener.stop()
  }

  /** Takes the worker's id again, or a new one if it was declared dead. */
  async #identify(client: ClientBase): Promise<void> {
    this.#hasLock = false
    if (this.#id !== undefined && !(await beat(client, this.#id))) {
      this.#id = undefined
      this.#events.onDeath()
    }
    this.#id ??= await registerWorker(client, `${hostname()} ${process.pid}`)
    this.#hasLock = await takePresence(client, this.#id)
    this.#events.onNews(undefined)
  }

  async #beat(client: ClientBase): Promise<void> {
    if (!(await beat(client, this.#id!))) await this.#identify(client)
    if (!this.#hasLock) this.#hasLock = await takePresence(client, this.#id!)
  }
}

const beatMs = 2_000
