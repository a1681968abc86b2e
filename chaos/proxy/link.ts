import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { OneWay } from './one-way.ts'

/** Hears what a client says, and what it calls itself. */
export type Listener = (label: string, bytes: Buffer) => void

/**
 * One connection through a proxy: the socket of the client, and the one to the server. As long as nothing is done to
 * it, each party hears what the other says and when it leaves.
 */
export class Link {
  readonly closed: Promise<void>
  readonly #client: Socket
  readonly #server: Socket
  readonly #toServer: OneWay
  readonly #toClient: OneWay
  /** What becomes of one party is not told to the other. */
  #isDisturbed = false
  #label = ''

  constructor(client: Socket, server: Socket, listen: Listener) {
    this.#client = client
    this.#server = server
    client.once('data', (bytes) => {
      this.#label = applicationName(bytes)
    })
    client.on('data', (bytes) => listen(this.#label, bytes))
    this.#toServer = new OneWay(client, server)
    this.#toClient = new OneWay(server, client)
    this.closed = Promise.all([this.#follow(client, server), this.#follow(server, client)]).then(
      () => undefined,
    )
  }

  /** The application name by which a client of PostgreSQL has begun the session. */
  get label(): string {
    return this.#label
  }

  /** By which PostgreSQL knows this connection: `client_port` in pg_stat_activity. */
  get serverSidePort(): number | undefined {
    return this.#server.localPort
  }

  get isUntouched(): boolean {
    return !this.#isDisturbed && !this.#client.destroyed && !this.#server.destroyed
  }

  /** When the client said something last. */
  get lastHeardAt(): number {
    return this.#toServer.lastHeardAt
  }

  /** Both parties see it at once. */
  reset(): void {
    this.#isDisturbed = true
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  /** Everything comes so much later, for a while. */
  async delay(byMs: number, forMs: number): Promise<void> {
    for (const way of [this.#toServer, this.#toClient]) way.delayMs = byMs
    await sleep(forMs)
    for (const way of [this.#toServer, this.#toClient]) way.delayMs = 0
  }

  /**
   * What the client says from now on is held until its connection has been reset, and delivered later: the server does
   * what nobody waits for any more. `onDelivery` is called when it has just had the time to.
   */
  async deliverLate(resetAfterMs: number, deliverAfterMs: number, onDelivery: () => void): Promise<void> {
    this.#isDisturbed = true
    this.#toServer.manner = 'hold'
    await this.#until(() => this.#toServer.heldBytes > 0)
    await sleep(resetAfterMs)
    this.#toServer.manner = 'lose'
    this.#client.resetAndDestroy()
    await sleep(deliverAfterMs)
    this.#toServer.deliverHeld()
    await sleep(timeToExecuteMs)
    onDelivery()
    await sleep(timeToEndMs)
    this.#server.destroy()
  }

  /** The client is told at once that the server has gone, which hears of it later. */
  async closeTowardsClient(serverAfterMs: number): Promise<void> {
    this.#silence()
    this.#client.end()
    await sleep(serverAfterMs)
    this.reset()
  }

  /** The client is reset once it has said something more, which the server has then still to read. */
  async resetAfterNextWords(serverAfterMs: number): Promise<void> {
    const before = this.lastHeardAt
    await this.#until(() => this.lastHeardAt !== before)
    this.#silence()
    this.#client.resetAndDestroy()
    await sleep(serverAfterMs)
    this.#server.destroy()
  }

  /**
   * Nothing gets through any more. After a while the server gives the connection up, as its keepalive would; so does
   * the client, or it is never told at all.
   */
  async vanish(serverAfterMs: number, clientAfterMs: number | 'never'): Promise<void> {
    this.#silence()
    const server = sleep(serverAfterMs).then(() => this.#server.destroy())
    const client =
      clientAfterMs !== 'never' && sleep(clientAfterMs).then(() => this.#client.resetAndDestroy())
    await Promise.all([server, client])
  }

  /** Not for ever: the client may have nothing to say, or leave. */
  async #until(isSo: () => boolean): Promise<void> {
    const deadline = performance.now() + longestSilenceMs
    while (!isSo() && !this.#client.destroyed && performance.now() < deadline) await sleep(5)
  }

  #silence(): void {
    this.#isDisturbed = true
    this.#toServer.manner = 'lose'
    this.#toClient.manner = 'lose'
  }

  #follow(one: Socket, other: Socket): Promise<void> {
    one.on('error', () => {
      if (!this.#isDisturbed) other.resetAndDestroy()
    })
    one.on('end', () => {
      if (this.#isDisturbed) one.destroy()
    })
    return new Promise((resolve) => {
      one.once('close', () => {
        if (!this.#isDisturbed && other.writable) other.end()
        resolve()
      })
    })
  }
}

const longestSilenceMs = 2_500
const timeToExecuteMs = 30
const timeToEndMs = 2_000

/** From the start-up message of PostgreSQL's protocol: names and values, each ended by a zero byte. */
function applicationName(startup: Buffer): string {
  const words = startup.subarray(8).toString('latin1').split('\0')
  const place = words.findIndex((word, index) => index % 2 === 0 && word === 'application_name')
  return place < 0 ? '' : words[place + 1]!
}
