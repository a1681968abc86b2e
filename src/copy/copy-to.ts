import type { Writable } from 'node:stream'
import type { Principal } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import type { ReplicaReader } from '../statements/replica-reader.ts'
import { runAs } from '../statements/run-as.ts'
import type { StatementRun } from '../statements/statement-run.ts'
import type { ClientWait } from '../statements/time-limits.ts'
import { type Copies, copyOptions } from './copies.ts'
import { CopyRun } from './copy-run.ts'

/** Where the data of a COPY ... TO STDOUT goes. */
export type Download = Readonly<{
  /** Called once, with the first data or at the end. Until then an error can still be answered as an error. */
  open: () => Writable
  wait: ClientWait
  /** Fires when the client leaves. */
  gone: AbortLike
  /** If the client wants to read from a replica. */
  reader?: ReplicaReader | undefined
}>

/**
 * Sends the output of COPY ... TO STDOUT, as the key's own role. Resolves to the number of rows once all of them have
 * been passed to the download; the caller must end the download.
 */
export async function copyTo(
  copies: Copies,
  principal: Principal,
  statement: CopyStatement,
  download: Download,
): Promise<number> {
  let isAnswered = false
  const open = () => {
    isAnswered = true
    return download.open()
  }
  const options = {
    ...copyOptions(copies, principal, statement, download.gone),
    reader: download.reader,
    isAnswered: () => isAnswered,
  }
  return runAs(copies.databases, principal, options, async (run) => {
    const copy = new CopyRun(run)
    const sender = new CopySender(copy, { ...download, open })
    const rows = await copy.copy(statement, sender)
    sender.open()
    return rows
  })
}

/** Sends COPY data on as it arrives, and pauses the server while the client is slow. */
class CopySender {
  readonly #copy: CopyRun
  readonly #run: StatementRun
  readonly #download: Download
  #sink: Writable | null = null
  #unsent = 0
  #isHeld = false
  #isDropping = false

  constructor(copy: CopyRun, download: Download) {
    this.#copy = copy
    this.#run = copy.run
    this.#download = download
  }

  open(): Writable {
    this.#sink ??= this.#download.open()
    return this.#sink
  }

  readonly copyData = (data: Buffer, giveBack: () => void): void => {
    if (this.#isDropping) {
      this.#copy.hasDropped = true
      giveBack()
      return
    }
    this.#unsent += 1
    this.open().write(data, () => {
      giveBack()
      this.#unsent -= 1
      if (this.#isHeld && this.#unsent < maxUnsent) this.#goOn()
    })
    if (this.#unsent >= maxUnsent) this.#hold()
    else this.#rest(data.length)
  }

  /** At the time limit, data is still sent if the client takes it: the statement may complete. */
  readonly stopped = (): void => {
    this.#isDropping = !this.#run.isTimedOut || this.#isHeld
    this.#download.wait.end()
  }

  #hold(): void {
    // A server blocked by backpressure does not see the cancel.
    if (this.#run.stopReason) {
      this.#isDropping = true
      return
    }
    this.#isHeld = true
    this.#run.wire.pause()
    this.#download.wait.begin(() => this.#run.stop(errors.clientLeft()))
  }

  #goOn(): void {
    this.#isHeld = false
    // The COPY is over: the connection is no longer ours, and `end` of the download waits for the client.
    if (this.#run.isOver) return
    this.#download.wait.end()
    this.#run.wire.resume()
  }

  /**
   * One read per turn, so that a fast server leaves time for other work. As the server sends 8 KB at a time, a small
   * read is followed by a short pause in which more data arrives in the kernel: it costs no time, and saves the server
   * and us most of the work. Over a Unix socket the kernel buffers little, and a fast server would have to wait.
   */
  #rest(bytesRead: number): void {
    this.#run.wire.pause()
    const goOn = () => {
      if (!this.#isHeld && !this.#run.isOver) this.#run.wire.resume()
    }
    const few = this.#run.wire.isOverTcp ? fewBytes : fewLocalBytes
    if (bytesRead < few) setTimeout(goOn, gatherMs)
    else setImmediate(goOn)
  }
}

/** Reads in flight to the client; one read has up to 256 KB. */
const maxUnsent = 3
const fewBytes = 64 * 1024
const fewLocalBytes = 16 * 1024
const gatherMs = 1
