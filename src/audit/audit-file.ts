import { type FileHandle, open } from 'node:fs/promises'
import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { lockUnshipped, removeShipped } from './audit-store.ts'

/**
 * Writes the audit record to a file as lines of JSON, for a program that ships them. One process writes at a time. A
 * record leaves the outbox after it is on the disk: it is written at least once. The file is opened for each batch, so
 * one that was moved away is made again. While it cannot be written, the records wait in the database; nothing else does.
 */
export class AuditFile {
  readonly #control: Pool
  readonly #path: string
  readonly #log: Log
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #isFailing = false
  #isStopped = false

  constructor(control: Pool, path: string, log: Log) {
    this.#control = control
    this.#path = path
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  /** Writes the last records of this process, but no more than a batch of a long queue. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopped = true
    await this.#writing
    await this.flush()
  }

  /** Writes what waits. */
  flush(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    try {
      let written: number
      do {
        written = await this.#writeSome()
        if (written > 0 && this.#isFailing) {
          this.#isFailing = false
          this.#log.info({ path: this.#path }, 'the audit file is written again')
        }
      } while (written === batchRecords && !this.#isStopped)
    } catch (error) {
      if (!this.#isFailing) this.#log.error({ err: error, path: this.#path }, 'cannot write the audit file')
      this.#isFailing = true
    }
  }

  #writeSome(): Promise<number> {
    return inTransaction(this.#control, async (tx) => {
      const records = await lockUnshipped(tx, batchRecords)
      if (records.length === 0) return 0
      await append(this.#path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      const ids = records.map(({ id }) => id)
      await removeShipped(tx, ids)
      return records.length
    })
  }
}

async function append(path: string, lines: string): Promise<void> {
  const file = await open(path, 'a+', 0o600)
  try {
    const found = await file.stat()
    // A full pipe would hold us.
    if (!found.isFile()) throw new Error(`${path} is not a regular file`)
    await file.appendFile((await isCut(file, found.size)) ? `\n${lines}` : lines)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** A full disk, or the end of the machine, may have cut the last line short. */
async function isCut(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 })
  return buffer.toString() !== '\n'
}

const flushMs = 5_000
/** Bounds the memory: a record has at most some ten thousand characters. */
const batchRecords = 100
