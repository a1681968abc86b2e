import { Writable } from 'node:stream'
import { type FrameId, rowsEnd, rowsStart } from '../contract/session-frames.ts'

/** The other end of a session. */
export type Peer = Readonly<{
  /**
   * Sends a text or binary frame. `sent` is called when the network has taken it, or the peer is gone. A frame without
   * `sent` is small, so its sender does not wait.
   */
  send: (frame: string | Buffer, isBinary: boolean, sent?: OnSent) => void
  /** Closes the connection after the frames that were sent. */
  close: (code: number) => void
}>

type OnSent = () => void

/**
 * Sends the bytes of an answer as frames. A chunk counts as written when the network has taken it, so a slow peer holds
 * back PostgreSQL. Rows arrive as lines of NDJSON, and a frame has only whole ones.
 */
export abstract class FrameSink extends Writable {
  protected readonly peer: Peer
  #isStopped = false

  constructor(peer: Peer) {
    super({ decodeStrings: true })
    this.peer = peer
  }

  /** The peer gets nothing more of this answer. */
  stop(): void {
    this.#isStopped = true
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: OnSent): void {
    if (this.#isStopped) done()
    else this.pass(chunk, done)
  }

  protected abstract pass(chunk: Buffer, done: OnSent): void
}

/** Rows as `rows` frames. */
export class RowFrames extends FrameSink {
  /** Sent so far. */
  rowCount = 0
  readonly #start: Buffer
  /** The beginning of a row that has not ended. */
  #kept: Buffer[] = []

  constructor(peer: Peer, id: FrameId) {
    super(peer)
    this.#start = Buffer.from(rowsStart(id))
  }

  protected pass(chunk: Buffer, done: OnSent): void {
    const end = chunk.lastIndexOf(lineFeed)
    if (end < 0) {
      this.#kept.push(Buffer.from(chunk))
      done()
      return
    }
    const frame = Buffer.concat([this.#start, ...this.#kept, chunk.subarray(0, end), endOfFrame])
    this.#kept = end + 1 < chunk.length ? [Buffer.from(chunk.subarray(end + 1))] : []
    this.#separate(frame)
    this.peer.send(frame, false, done)
  }

  /** A row contains no line feed: JSON escapes it. */
  #separate(frame: Buffer): void {
    this.rowCount += 1
    let at = frame.indexOf(lineFeed, this.#start.length)
    for (; at >= 0; at = frame.indexOf(lineFeed, at + 1)) {
      frame[at] = comma
      this.rowCount += 1
    }
  }
}

/** Any other format, as binary frames. */
export class ByteFrames extends FrameSink {
  protected pass(chunk: Buffer, done: OnSent): void {
    if (chunk.length === 0) done()
    else this.peer.send(chunk, true, done)
  }
}

const lineFeed = 0x0a
const comma = 0x2c
const endOfFrame = Buffer.from(rowsEnd)
