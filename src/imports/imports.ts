import { existsSync } from 'node:fs'
import { type Config, importFolderOf } from '../config/config.ts'
import { type ConverterState, openConverter } from '../convert/converter.ts'
import type { QuotaLedger } from '../copy/quota-ledger.ts'
import type { Log } from '../log/log.ts'
import { type Network, publicNetwork } from '../network/network.ts'
import type { Databases } from '../postgres/databases.ts'
import { unfinishedImports } from './import-store.ts'
import { deleteExpiredUploads, keptUploads } from './resumable/upload-store.ts'
import { Spool } from './spool.ts'

/** What all imports of a process share. Nothing is looked for before it is needed. */
export class Imports {
  readonly config: Config
  readonly quotas: QuotaLedger
  readonly slots: WorkSlots
  /** What downloads may reach. */
  network: Network = publicNetwork
  readonly #databases: Databases
  readonly #log: Log
  readonly #root: string
  #spool: Promise<Spool> | undefined
  #converter: Promise<ConverterState> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(config: Config, databases: Databases, quotas: QuotaLedger, log: Log) {
    this.config = config
    this.quotas = quotas
    this.slots = new WorkSlots(config.importsPerWorker)
    this.#databases = databases
    this.#log = log
    this.#root = importFolderOf(config)
  }

  spool(): Promise<Spool> {
    this.#spool ??= Spool.open(this.#root).catch((error: unknown) => {
      this.#spool = undefined
      throw error
    })
    return this.#spool
  }

  converter(): Promise<ConverterState> {
    const {
      importSandbox,
      importTimeoutMs: timeMs,
      importMemoryBytes: memoryBytes,
      importUnpackedBytes,
    } = this.config
    const limits = { timeMs, cpuSeconds: timeMs / 1_000, memoryBytes, fileBytes: importUnpackedBytes }
    this.#converter ??= openConverter(importSandbox === 'none', limits)
    return this.#converter
  }

  /** Removes what ended imports, dead processes and expired uploads left, now and every minute. */
  start(): void {
    this.#timer = setInterval(() => this.#sweep(), sweepMs)
    void this.#sweep()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Removes the files of an import, if it has ended. */
  async forget(id: string): Promise<void> {
    try {
      const unfinished = await unfinishedImports(this.#databases.control, [id])
      if (!unfinished.has(id)) await (await this.spool()).remove(id)
    } catch (error) {
      this.#log.warn({ err: error, importId: id }, 'cannot remove the files of an import: trying again later')
    }
  }

  async #sweep(): Promise<void> {
    if (!existsSync(this.#root)) return
    try {
      const spool = await this.spool()
      const { control } = this.#databases
      await deleteExpiredUploads(control)
      const kept = (ids: readonly string[]) => keptUploads(control, ids)
      // A finish that broke off leaves the file of an upload in the folder of an import that was not made.
      const unfinished = async (ids: readonly string[]) =>
        new Set([...(await unfinishedImports(control, ids)), ...(await kept(ids))])
      await spool.sweep(unfinished, kept)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot remove files of old imports')
    }
  }
}

const sweepMs = 60_000

/** Lets a few run at a time; the others wait in their order. */
export class WorkSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** False: aborted before a slot was free. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#free > 0) {
      this.#free--
      return true
    }
    return new Promise((resolve) => {
      const get = () => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(get), 1)
        resolve(false)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(get)
    })
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}
