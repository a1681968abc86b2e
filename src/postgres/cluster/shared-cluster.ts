import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterHeld } from './cluster-error.ts'
import {
  type EmbeddedCluster,
  type EmbeddedClusterOptions,
  startEmbeddedCluster,
} from './embedded-cluster.ts'
import { dataDirFile } from './installations.ts'
import { runningClusterUrl } from './running-url.ts'

/**
 * The cluster under the data directory for any number of processes: the first starts it, the others join. When the
 * one that looks after it leaves, another takes over; the last one to leave stops it.
 */
export async function shareCluster(options: EmbeddedClusterOptions): Promise<SharedCluster> {
  const deadline = Date.now() + joinTimeoutMs
  for (;;) {
    try {
      const keeper = await startEmbeddedCluster(options)
      await writeFile(join(keeper.directory, dataDirFile), options.dataDir)
      return new SharedCluster(options, keeper.url, keeper)
    } catch (error) {
      if (!(error instanceof ClusterHeld) || Date.now() > deadline) throw error
      const url = await runningClusterUrl(options.dataDir, options.log)
      if (url && (await doesAnswer(url))) return new SharedCluster(options, url, undefined)
      // Its keeper is just starting it, or about to end.
      await sleep(joinPauseMs, undefined, options.signal && { signal: options.signal })
    }
  }
}

export class SharedCluster {
  readonly url: string
  readonly #options: EmbeddedClusterOptions
  readonly #stopping = new AbortController()
  readonly #watching: Promise<void>
  #keeper: EmbeddedCluster | undefined

  constructor(options: EmbeddedClusterOptions, url: string, keeper: EmbeddedCluster | undefined) {
    this.#options = { dataDir: options.dataDir, log: options.log, settings: options.settings ?? {} }
    this.url = url
    this.#keeper = keeper
    this.#watching = this.#succeed()
  }

  /** Call it when this process has closed its connections. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#watching
    if (!this.#keeper && !(await this.#isAbandoned())) return
    if (this.#keeper && (await hasUsers(this.url))) {
      await this.#keeper.leave()
      this.#keeper = undefined
      // Whoever left between the look and now has not found it free; who leaves from now on does.
      if ((await hasUsers(this.url)) || !(await this.#isAbandoned())) return
    }
    await this.#keeper?.stop()
  }

  /** Takes over from a keeper that has left or died. */
  async #succeed(): Promise<void> {
    while (!this.#keeper) {
      await sleep(successionPauseMs, undefined, { signal: this.#stopping.signal, ref: false }).catch(
        () => undefined,
      )
      if (this.#stopping.signal.aborted) return
      await this.#takeOver().catch((error: unknown) => {
        this.#options.log.warn(
          { err: error },
          'cannot take over the PostgreSQL of another process: trying again',
        )
      })
    }
  }

  /** Whether the server runs and nobody looks after it; then it is ours. */
  async #isAbandoned(): Promise<boolean> {
    if (!(await runningClusterUrl(this.#options.dataDir, this.#options.log))) return false
    await this.#takeOver()
    return this.#keeper !== undefined
  }

  async #takeOver(): Promise<void> {
    try {
      this.#keeper = await startEmbeddedCluster(this.#options)
    } catch (error) {
      if (!(error instanceof ClusterHeld)) throw error
    }
  }
}

async function doesAnswer(url: string): Promise<boolean> {
  return ask(url, 'select').then(
    () => true,
    () => false,
  )
}

/** Whether a Cartage process is connected; our own connections are closed by now. */
async function hasUsers(url: string): Promise<boolean> {
  const question = `select from pg_catalog.pg_stat_activity where usename = current_user and application_name = 'cartage control'`
  return ask(url, question).then(
    ({ rowCount }) => Boolean(rowCount),
    () => false,
  )
}

async function ask(url: string, question: string): Promise<pg.QueryResult> {
  const client = new ScramClient({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query(question)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const joinTimeoutMs = 60_000
const joinPauseMs = 200
const successionPauseMs = 500
