import { connect, type Socket } from 'node:net'

export type RawAnswer = Readonly<{ status: number; body: string }>

/** One keep-alive HTTP connection. Plain sockets instead of an HTTP client, whose cost would count as the service's. */
export class RawClient {
  readonly #socket: Socket
  readonly #host: string
  #received: Buffer = Buffer.alloc(0)
  #waiting: { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void } | undefined

  constructor(url: string) {
    const { hostname, port, host } = new URL(url)
    this.#host = host
    this.#socket = connect(Number(port), hostname).setNoDelay()
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', (error) => this.#waiting?.reject(error))
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')))
  }

  send(method: string, path: string, body = ''): Promise<RawAnswer> {
    // The server closes a connection that is idle for too long.
    if (this.#socket.destroyed) return Promise.reject(new Error('the server closed the connection'))
    const length = Buffer.byteLength(body)
    const type = length > 0 ? 'Content-Type: application/json\r\n' : ''
    this.#socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n${type}Content-Length: ${length}\r\n\r\n${body}`,
    )
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  /** Reads what must be answered with 200. */
  async read(path: string): Promise<void> {
    const { status, body } = await this.send('GET', path)
    if (status !== 200) throw new Error(`${status} ${body}`)
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const bodyStart = headEnd + 4
    const bodyEnd = bodyStart + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (this.#received.length < bodyEnd) return
    const body = this.#received.toString('utf8', bodyStart, bodyEnd)
    this.#received = this.#received.subarray(bodyEnd)
    this.#waiting?.resolve({ status: Number(head.slice(9, 12)), body })
  }
}
