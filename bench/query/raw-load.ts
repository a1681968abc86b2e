import { connect } from 'node:net'
import { percentile } from '../frame/measure.ts'

export type LoadResult = Readonly<{ rate: number; p50Ms: number; p99Ms: number }>

/**
 * GETs one URL over keep-alive connections for a while. Plain sockets instead of an HTTP client, whose cost would count
 * as the service's.
 */
export async function rawLoad(
  urls: readonly string[],
  connections: number,
  durationMs: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<LoadResult> {
  const latencies: number[] = []
  const start = performance.now()
  const deadline = start + durationMs
  await Promise.all(
    Array.from({ length: connections }, (_, place) =>
      client(urls[place % urls.length]!, deadline, latencies, headers),
    ),
  )
  return {
    rate: latencies.length / ((performance.now() - start) / 1000),
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
  }
}

async function client(
  url: string,
  deadline: number,
  latencies: number[],
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { host, hostname, port, pathname, search } = new URL(url)
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${more.join('')}\r\n`)
  const answer = new Answer()
  const socket = connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    // Reads into one buffer need no new memory.
    onread: { buffer, callback: (length) => answer.read(length) },
  })
  socket.on('error', (error) => answer.end(error))
  socket.on('close', () => answer.end(new Error('the connection was closed')))
  try {
    for (let now = performance.now(); now < deadline; ) {
      const sentAt = now
      const whole = answer.begin()
      socket.write(request)
      await whole
      now = performance.now()
      latencies.push(now - sentAt)
    }
  } finally {
    socket.destroy()
  }
}

const buffer = Buffer.allocUnsafe(256 * 1024)

/** Finds the end of one answer after another. */
class Answer {
  #settle: ((error?: Error) => void) | undefined
  /** The bytes left, if the head has announced them. */
  #left: number | undefined
  #tail = ''

  /** Resolves when one complete answer of status 200 or 304 has arrived. */
  begin(): Promise<void> {
    this.#left = undefined
    this.#tail = ''
    return new Promise((resolve, reject) => {
      this.#settle = (error) => (error ? reject(error) : resolve())
    })
  }

  end(error?: Error): void {
    this.#settle?.(error)
    this.#settle = undefined
  }

  /** The bytes read are at the start of the buffer. */
  read(length: number): true {
    if (this.#left === undefined && this.#tail === '') this.#readHead(length)
    if (this.#left !== undefined) {
      this.#left -= length
      if (this.#left === 0) this.end()
      return true
    }
    // A chunked answer ends with an empty chunk.
    this.#tail = (this.#tail + buffer.toString('latin1', Math.max(0, length - 7), length)).slice(-7)
    if (this.#tail === '\r\n0\r\n\r\n') this.end()
    return true
  }

  #readHead(length: number): void {
    const headEnd = buffer.subarray(0, length).indexOf('\r\n\r\n')
    const head = buffer.toString('latin1', 0, headEnd)
    if (!/^HTTP\/1.1 (200|304)/.test(head)) this.end(new Error(head.split('\r\n', 1)[0]))
    const bodyLength = head.startsWith('HTTP/1.1 304') ? '0' : /content-length: (\d+)/i.exec(head)?.[1]
    if (bodyLength !== undefined) this.#left = Number(bodyLength) + headEnd + 4
  }
}
