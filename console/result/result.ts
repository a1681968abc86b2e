import { signal } from '@preact/signals'
import { CartageError } from '../../src/client/cartage-error.ts'
import type { SortOrder } from '../../src/contract/formats.ts'
import { ApiError, UnreachableError } from '../api/api-error.ts'
import { waitForService } from '../api/connection.ts'
import { authorizationOf, type Credential } from '../api/credential.ts'
import { serviceAddress } from '../parts/browser/address.ts'
import {
  type FromWorker,
  type Question,
  type Questions,
  type ResultOutcome,
  type ResultProgress,
  type ResultRow,
  refusedBy,
  type ToWorker,
} from './worker/protocol.ts'
import { takeWorker } from './worker/spare-worker.ts'

/** Further parameters of the SQL endpoint. With `params` PostgreSQL accepts one statement only. */
export type QueryExtras = Partial<ServerOrder> & Readonly<{ params?: readonly unknown[] }>

/** Parameters of the SQL endpoint: it sorts all rows before it answers. */
export type ServerOrder = Readonly<{ order_by: string; sort_order: SortOrder }>

/** Runs the statement elsewhere; the bytes are those of an answer of the SQL endpoint. */
export type Feed = (stop: AbortSignal) => Promise<AsyncIterable<Uint8Array>>

/** The statement of a result, its values, and its key. */
export type ResultSource = Readonly<{
  text: string
  params?: readonly unknown[] | undefined
  credential: Credential & { kind: 'key' }
}>

export type ResultState = 'running' | 'done' | 'stopped' | 'full' | 'failed'

/** The rows of one statement. A worker holds them; the main thread reads only what it shows. */
export class Result {
  readonly progress = signal<ResultProgress>({ rows: 0, bytes: 0, columns: [] })
  readonly state = signal<ResultState>('running')
  readonly error = signal<Error | undefined>(undefined)
  readonly outcome = signal<ResultOutcome | undefined>(undefined)
  readonly startedAt = performance.now()
  /** Until the last byte arrived. */
  readonly elapsedMs = signal<number | undefined>(undefined)
  /** Resolves when the result has ended in any way. */
  readonly ended: Promise<void>
  /** The first rows, in their original order. */
  head: readonly ResultRow[] = []
  readonly #worker = takeWorker()
  readonly #questions = new Map<number, (answer: unknown) => void>()
  readonly #stopped = new AbortController()
  readonly #unseen: number
  #lastId = 0
  #end: () => void = () => undefined

  /**
   * With `feed` the answer comes from there instead of the SQL endpoint. The last `unseen` columns are read but not
   * shown.
   */
  constructor(
    text: string,
    credential: Credential & { kind: 'key' },
    extras: QueryExtras = {},
    feed?: Feed,
    unseen = 0,
  ) {
    this.#unseen = unseen
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#take(data)
    // The worker's file could not be loaded: it is not cached, and the service is down.
    this.#worker.onerror = () => this.#finish({ kind: 'unreachable' })
    if (feed) void this.#feed(feed)
    else this.#ask(text, credential, extras)
  }

  #ask(text: string, credential: Credential & { kind: 'key' }, extras: QueryExtras): void {
    this.#send({
      kind: 'run',
      serviceUrl: serviceAddress,
      authorization: authorizationOf(credential),
      account: credential.username,
      json: { q: text, ...extras },
    })
  }

  /** The service cancels the statement. The rows that arrived stay. */
  stop(): void {
    this.#stopped.abort()
    this.#send({ kind: 'stop' })
  }

  /** Frees its memory. */
  drop(): void {
    this.#stopped.abort()
    this.#worker.terminate()
    this.#end()
  }

  ask<Q extends Question>(question: Q, about: Questions[Q]['ask']): Promise<Questions[Q]['answer']> {
    const id = ++this.#lastId
    this.#send({ kind: 'ask', id, question, ...about } as ToWorker)
    return new Promise((resolve) => this.#questions.set(id, resolve as (answer: unknown) => void))
  }

  async #feed(feed: Feed): Promise<void> {
    const { signal: stopped } = this.#stopped
    try {
      for await (const bytes of await feed(stopped)) {
        this.#send({ kind: 'feed', bytes })
        if (this.state.value === 'full') return
      }
      this.#send({ kind: 'fed' })
    } catch (error) {
      this.#send({ kind: 'fed', outcome: stopped.aborted ? { kind: 'stopped' } : outcomeOf(error) })
    }
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  #take(message: FromWorker): void {
    if (message.kind === 'answer') {
      this.#questions.get(message.id)?.(message.answer)
      this.#questions.delete(message.id)
      return
    }
    if (message.kind === 'progress' && message.head) this.head = message.head
    this.progress.value = this.#seen(message.progress)
    if (message.kind === 'ended') this.#finish(message.outcome)
  }

  #seen({ columns, ...progress }: ResultProgress): ResultProgress {
    return { ...progress, columns: this.#unseen > 0 ? columns.slice(0, -this.#unseen) : columns }
  }

  #finish(outcome: ResultOutcome): void {
    this.elapsedMs.value = performance.now() - this.startedAt
    this.outcome.value = outcome
    this.error.value = errorOf(outcome)
    this.state.value = this.error.value ? 'failed' : (outcome.kind as ResultState)
    this.#end()
  }
}

function outcomeOf(error: unknown): ResultOutcome {
  if (!(error instanceof CartageError)) throw error
  if (error.code === 'service-unreachable') return { kind: 'unreachable' }
  return refusedBy(error)
}

function errorOf(outcome: ResultOutcome): Error | undefined {
  if (outcome.kind === 'refused') return new ApiError(outcome.message, outcome.facts)
  if (outcome.kind === 'torn') {
    return new Error(
      'The answer broke off: the statement failed midway, or the connection was lost. Rows are missing.',
    )
  }
  if (outcome.kind !== 'unreachable') return undefined
  void waitForService()
  return new UnreachableError(outcome)
}
