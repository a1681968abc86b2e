import type { WebSocketClass } from '../session/web-socket.ts'
import {
  type Body,
  ConnectionLost,
  type HttpRequest,
  type HttpResponse,
  type Transport,
} from './transport.ts'

/** By fetch; what reports its progress on the way out by XMLHttpRequest, because fetch tells nothing of that. */
export const browserTransport: Transport = {
  exchange: async (request) => {
    const body = await bodyOf(request.body)
    return request.onProgress ? exchangeWithProgress(request, body) : exchangeByFetch(request, body)
  },
  sendsAgain: true,
  webSocket: async () => WebSocket as WebSocketClass,
  close: () => undefined,
}

type WholeBody = string | Uint8Array<ArrayBuffer> | Blob | undefined

/** Browsers send no streams over HTTP/1.1. A Blob may be larger than the memory: they keep it on disk. */
async function bodyOf(body: Body | undefined): Promise<WholeBody> {
  if (body === undefined || typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>
  const parts: Blob[] = []
  for await (const chunk of body) parts.push(new Blob([chunk as string | Uint8Array<ArrayBuffer>]))
  return new Blob(parts)
}

async function exchangeByFetch(
  { method, url, headers, signal }: HttpRequest,
  body: WholeBody,
): Promise<HttpResponse> {
  const options = {
    method,
    headers: { ...headers },
    cache: 'no-store' as const,
    credentials: 'omit' as const,
    ...(body === undefined ? {} : { body }),
    ...(signal ? { signal } : {}),
  }
  const response = await fetch(url, options).catch((error: unknown) => {
    throw new ConnectionLost(error)
  })
  return {
    status: response.status,
    header: (name) => response.headers.get(name) ?? undefined,
    body: chunksOf(response.body),
  }
}

/** Not every browser can iterate a ReadableStream. */
async function* chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = stream?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    // Does nothing if the stream was read to its end.
    await reader.cancel().catch(() => undefined)
  }
}

function exchangeWithProgress(request: HttpRequest, body: WholeBody): Promise<HttpResponse> {
  const { signal, onProgress } = request
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const xhr = new (globalThis as unknown as { XMLHttpRequest: new () => Xhr }).XMLHttpRequest()
    const abort = () => xhr.abort()
    signal?.addEventListener('abort', abort)
    xhr.onloadend = () => signal?.removeEventListener('abort', abort)
    xhr.onerror = () => reject(new ConnectionLost(undefined))
    xhr.onabort = () => reject(signal?.reason)
    xhr.onload = () => resolve(responseOf(xhr))
    xhr.upload.onprogress = ({ loaded, total }) => onProgress?.({ bytes: loaded, total })
    xhr.open(request.method, request.url)
    xhr.responseType = 'arraybuffer'
    for (const [name, value] of Object.entries(request.headers)) xhr.setRequestHeader(name, value)
    xhr.send(body)
  })
}

function responseOf(xhr: Xhr): HttpResponse {
  const whole = async function* () {
    yield new Uint8Array(xhr.response)
  }
  return { status: xhr.status, header: (name) => xhr.getResponseHeader(name) ?? undefined, body: whole() }
}

/** What is used of an XMLHttpRequest: Node has no type for it. */
type Xhr = {
  readonly status: number
  readonly response: ArrayBuffer
  readonly upload: { onprogress: ((event: Readonly<{ loaded: number; total: number }>) => void) | null }
  responseType: string
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  onloadend: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  send(body: WholeBody): void
  abort(): void
}
