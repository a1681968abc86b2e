import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Link, type Listener } from './link.ts'

/** A loopback proxy between clients and one server that passes bytes on until it is attacked. */
export class TcpProxy {
  readonly port: number
  readonly #listener: Server
  readonly #links = new Set<Link>()
  readonly #sockets = new Set<Socket>()
  #silence: Promise<void> | undefined

  /** Opens a proxy before the server on this port. */
  static async open(serverPort: number, listen: Listener = () => undefined): Promise<TcpProxy> {
    const listener = createServer({ allowHalfOpen: true, noDelay: true })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    return new TcpProxy(listener, serverPort, listen)
  }

  private constructor(listener: Server, serverPort: number, listen: Listener) {
    this.#listener = listener
    this.port = (listener.address() as AddressInfo).port
    listener.on('connection', (client) => this.#accept(client, serverPort, listen))
  }

  /** Connections that were not attacked yet. */
  get links(): readonly Link[] {
    return [...this.#links].filter(({ isUntouched }) => isUntouched)
  }

  /** The same address through the proxy. */
  inFrontOf(url: string): string {
    const changed = new URL(url)
    changed.port = String(this.port)
    return changed.href
  }

  /** Passes nothing on for a while, on open and on new connections. */
  async isolate(forMs: number): Promise<void> {
    const silence = sleep(forMs)
    this.#silence = silence
    await Promise.all([silence, ...this.links.map((link) => link.vanish(forMs, forMs))])
    if (this.#silence === silence) this.#silence = undefined
  }

  /** Removes the address. Connected clients see it closed, or wait in vain until they give up. */
  retire(tells: boolean): void {
    this.#listener.close()
    for (const link of this.links) {
      if (tells) link.reset()
      else void link.vanish(0, longestVanishMs)
    }
  }

  close(): void {
    this.#listener.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(client: Socket, serverPort: number, listen: Listener): void {
    this.#keep(client)
    client.on('error', () => undefined)
    if (this.#silence) {
      client.resume()
      client.once('end', () => client.destroy())
      void this.#silence.then(() => client.destroy())
      return
    }
    const server = connect({ port: serverPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    this.#keep(server)
    const link = new Link(client, server, listen)
    this.#links.add(link)
    void link.closed.then(() => this.#links.delete(link))
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

/** As long as TCP keepalive, set to seconds, takes to notice. */
export const longestVanishMs = 20_000
