import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { OneWay } from './one-way.ts'

/** Gets the bytes of a client, and its name. */
export type Listener = (label: string, bytes: Buffer) => void

/**
 * One connection through a proxy: the client's socket and the one to the server. Without an attack, each side gets the
 * other's bytes and sees it close.
 */
export class Link {
  readonly closed: Promise<void>
  readonly #client: Socket
  readonly #server: Socket
  readonly #toServer: OneWay
  readonly #toClient: OneWay
  /** One side's end is not passed on to the other. */
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

  /** The application name with which a PostgreSQL client began the session. */
  get label(): string {
    return this.#label
  }

  /** PostgreSQL's name of this connection: `client_port` in pg_stat_activity. */
  get serverSidePort(): number | undefined {
    return this.#server.localPort
  }

  get isUntouched(): boolean {
    return !this.#isDisturbed && !this.#client.destroyed && !this.#server.destroyed
  }

  /** When the client last sent something. */
  get lastHeardAt(): number {
    return this.#toServer.lastHeardAt
  }

  /** Resets both sides at once. */
  reset(): void {
    this.#isDisturbed = true
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  /** Delays everything by this time, for a while. */
  async delay(byMs: number, forMs: number): Promise<void> {
    for (const way of [this.#toServer, this.#toClient]) way.delayMs = byMs
    await sleep(forMs)
    for (const way of [this.#toServer, this.#toClient]) way.delayMs = 0
  }

  /**
   * Holds what the client sends from now on until its connection has been reset, and delivers it later: the server
   * executes what no client waits for. `onDelivery` is called when it has had the time to.
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

  /** Closes the client's side at once, and the server's later. */
  async closeTowardsClient(serverAfterMs: number): Promise<void> {
    this.#silence()
    this.#client.end()
    await sleep(serverAfterMs)
    this.reset()
  }

  /** Resets the client after it has sent something more, which the server still reads. */
  async resetAfterNextWords(serverAfterMs: number): Promise<void> {
    const before = this.lastHeardAt
    await this.#until(() => this.lastHeardAt !== before)
    this.#silence()
    this.#client.resetAndDestroy()
    await sleep(serverAfterMs)
    this.#server.destroy()
  }

  /**
   * Passes nothing on any more. After a while the server gives the connection up, as by keepalive; so does the client,
   * or never.
   */
  async vanish(serverAfterMs: number, clientAfterMs: number | 'never'): Promise<void> {
    this.#silence()
    const server = sleep(serverAfterMs).then(() => this.#server.destroy())
    const client =
      clientAfterMs !== 'never' && sleep(clientAfterMs).then(() => this.#client.resetAndDestroy())
    await Promise.all([server, client])
  }

  /** With a limit: the client may send nothing, or disconnect. */
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
