import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import type { TestUser } from '../service/setup.ts'

/** The members of a frame that tests check. */
export type Frame = Readonly<{
  type: string
  id?: string | number
  rows: Record<string, unknown>[]
  fields: Record<string, { type: string; pgtype?: string }>
  total_rows: number
  transaction?: string
  notices?: string[]
  severity?: string
  message?: string
  time: number
  error: string[]
  code?: string
  status?: number
  sqlstate?: string
  detail?: string
  hint?: string
  position?: number
  username?: string
  limits?: Record<string, number>
}>

export type Told = Readonly<{ rows: Record<string, unknown>[]; bytes: string; frames: Frame[]; last: Frame }>

export const socketUrl = ({ base }: Pick<TestUser, 'base'>) => `${base.replace(/^http/, 'ws')}/api/v4/session`

/** A session as any WebSocket library sees it. */
export class SessionSocket {
  readonly socket: WebSocket
  readonly closed: Promise<number>
  readonly #seen: (Frame | Buffer)[] = []
  #wake: () => void = () => undefined
  #isClosed = false
  #lastId = 0

  constructor(t: TestContext, url: string, options: WebSocket.ClientOptions = {}) {
    this.socket = new WebSocket(url, options)
    this.socket.on('message', (data, isBinary) => {
      this.#seen.push(isBinary ? (data as Buffer) : (JSON.parse(String(data)) as Frame))
      this.#wake()
    })
    this.socket.on('error', () => undefined)
    this.closed = once(this.socket, 'close').then(([code]) => {
      this.#isClosed = true
      this.#wake()
      return code as number
    })
    t.after(() => this.socket.terminate())
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** The next frame; undefined if the socket is closed instead. */
  async next(): Promise<Frame | Buffer | undefined> {
    while (this.#seen.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.#seen.shift()
  }

  /** The next text frame of one of these types. */
  async until(...types: string[]): Promise<Frame> {
    for (;;) {
      const frame = await this.next()
      if (frame === undefined) throw new Error(`closed before ${types}`)
      if (!Buffer.isBuffer(frame) && types.includes(frame.type)) return frame
    }
  }

  /** Sends a query without waiting; returns its id. */
  begin(q: string, more: Readonly<Record<string, unknown>> = {}): number {
    const id = ++this.#lastId
    this.send({ type: 'query', id, q, ...more })
    return id
  }

  /** Runs a query to its last frame. */
  async run(q: string, more: Readonly<Record<string, unknown>> = {}): Promise<Told> {
    return this.answer(this.begin(q, more))
  }

  async answer(id: number): Promise<Told> {
    const frames: Frame[] = []
    let bytes = ''
    for (;;) {
      const frame = await this.next()
      if (frame === undefined) throw new Error('closed before the answer')
      if (Buffer.isBuffer(frame)) {
        bytes += frame
        continue
      }
      frames.push(frame)
      if (frame.type === 'lost') throw new Error(`lost: ${frame.error}`)
      const isLast = frame.type === 'done' || frame.type === 'error'
      if (frame.id !== id || !isLast) continue
      return {
        rows: frames.flatMap(({ type, rows }) => (type === 'rows' ? rows : [])),
        bytes,
        frames,
        last: frame,
      }
    }
  }
}

/** An open session with the master key, unless another token (or none: '') is given. */
export async function openSession(
  t: TestContext,
  user: TestUser,
  { token = user.masterToken, ...more }: Readonly<{ token?: string; username?: string }> = {},
): Promise<SessionSocket> {
  const session = new SessionSocket(t, socketUrl(user))
  await once(session.socket, 'open')
  session.send({ type: 'open', token, ...more })
  const opened = await session.until('opened', 'error')
  if (opened.type === 'error') throw Object.assign(new Error(opened.error[0]), opened)
  return session
}
