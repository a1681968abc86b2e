import type {
  ErrorMembers,
  OpenMessage,
  SessionFrame,
  SessionMessage,
} from '../../contract/session-frames.ts'
import { CartageError, unexpectedAnswer, unreachable } from '../cartage-error.ts'
import { stringifyExact } from '../exact-json.ts'
import { FrameQueue } from './frame-queue.ts'
import type { WebSocketClass, WebSocketLike } from './web-socket.ts'

export type SessionLinkOptions = Readonly<{
  baseUrl: string
  path: string
  open: Omit<OpenMessage, 'type'>
  Socket: WebSocketClass
  signal: AbortSignal | undefined
}>

/** The WebSocket of a session: opens it with the token, and gives the frames to the answer that waits for them. */
export class SessionLink {
  /** Settles when the service has accepted the token. */
  readonly opened: Promise<void>
  /** Settles with the reason when the session is lost or closed. */
  readonly ended: Promise<CartageError>
  readonly #socket: WebSocketLike
  readonly #baseUrl: string
  #queue: FrameQueue | null = null
  #isOpen = false
  #lost: CartageError | null = null
  #onEnd: (reason: CartageError) => void = () => undefined
  #settle!: { resolve: () => void; reject: (error: unknown) => void }

  constructor({ baseUrl, path, open, Socket, signal }: SessionLinkOptions) {
    this.#baseUrl = baseUrl
    this.opened = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    this.ended = new Promise((resolve) => {
      this.#onEnd = resolve
    })
    this.#socket = new Socket(`${baseUrl.replace(/^http/, 'ws')}${path}`)
    this.#socket.binaryType = 'arraybuffer'
    this.#socket.onopen = () => this.#send({ type: 'open', ...open })
    this.#socket.onmessage = (event: Readonly<{ data: string | ArrayBuffer }>) => this.#take(event.data)
    // An error event is followed by the close event.
    let cause: unknown
    this.#socket.onerror = (event: Readonly<{ error?: unknown }>) => {
      cause = event.error
    }
    this.#socket.onclose = (event: Readonly<{ code: number }>) => this.#onClose(event.code, cause)
    const leave = () => {
      this.#settle.reject(signal?.reason)
      this.close()
    }
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave)
    const stay = () => signal?.removeEventListener('abort', leave)
    this.opened.then(stay, stay)
  }

  /** Why there is no session any more; null while there is one. */
  get lost(): CartageError | null {
    return this.#lost
  }

  /** Sends a message whose answer will be in the queue. */
  ask(message: SessionMessage): FrameQueue {
    if (this.#lost) throw this.#lost
    const queue = new FrameQueue(
      () => this.#socket.pause?.(),
      () => this.#socket.resume?.(),
    )
    this.#queue = queue
    this.#send(message)
    return queue
  }

  tell(message: SessionMessage): void {
    if (!this.#lost) this.#send(message)
  }

  close(): void {
    this.#lose(lostError('it was closed'))
    this.#socket.resume?.()
    this.#socket.close(1000)
    // A service that does not answer must not keep the process alive.
    const end = setTimeout(() => this.#socket.terminate?.(), closeMs)
    ;(end as { unref?: () => void }).unref?.()
  }

  #send(message: SessionMessage): void {
    this.#socket.send(stringifyExact(message))
  }

  #take(data: string | ArrayBuffer): void {
    if (typeof data !== 'string') {
      this.#queue?.push(new Uint8Array(data))
      return
    }
    // Their content is not read here.
    if (data.startsWith('{"type":"rows"')) {
      this.#queue?.push(data)
      return
    }
    const frame = parse(data)
    if (frame === undefined) this.#lose(unexpectedAnswer('a frame is not a JSON object'))
    else if (frame.type === 'opened') this.#open()
    else if (frame.type === 'lost') this.#lose(errorOf(frame))
    else if (frame.type === 'error' && !this.#isOpen) this.#settle.reject(errorOf(frame))
    else this.#queue?.push(data)
  }

  #open(): void {
    this.#isOpen = true
    this.#settle.resolve()
  }

  #onClose(code: number, cause: unknown): void {
    if (!this.#isOpen) this.#settle.reject(unreachable(this.#baseUrl, cause))
    const reason =
      code === 1009
        ? 'a message was larger than the service accepts'
        : 'the connection to the service was lost'
    this.#lose(lostError(reason, cause))
  }

  #lose(error: CartageError): void {
    this.#lost ??= error
    this.#queue?.fail(this.#lost)
    this.#onEnd(this.#lost)
  }
}

const closeMs = 1_000

/** The error in a frame. */
export function errorOf(frame: ErrorMembers): CartageError {
  const { error, status, retry_after: retryAfter } = frame
  const retryAfterSeconds = typeof retryAfter === 'number' ? retryAfter : undefined
  return new CartageError(error[0] ?? 'The service answered with an error', {
    status,
    body: frame,
    retryAfterSeconds,
  })
}

function lostError(reason: string, cause?: unknown): CartageError {
  const message = `The session has ended: ${reason}`
  return new CartageError(message, {
    body: { error: [message], code: 'session-lost', detail: 'An open transaction was rolled back' },
    cause,
  })
}

function parse(text: string): SessionFrame | undefined {
  try {
    const frame: unknown = JSON.parse(text)
    return typeof frame === 'object' && frame !== null ? (frame as SessionFrame) : undefined
  } catch {
    return undefined
  }
}
