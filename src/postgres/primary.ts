import type { ClientConfig } from 'pg'
import { hasSqlstate, isConnectionLoss, sqlstate } from './sqlstate.ts'
import { ScramClient } from './wire/scram-client.ts'
import { isStandby } from './wire/standby.ts'

export type Address = Readonly<Pick<ClientConfig, 'host' | 'port' | 'ssl'>>

type Login = Readonly<Pick<ClientConfig, 'user' | 'password' | 'database'>>

/** Which of several addresses is that of the primary. After a fail-over it is another one. */
export class Primary {
  readonly #addresses: readonly Address[]
  readonly #login: Login
  #known: Address | undefined
  #search: Promise<Address> | undefined
  /** Which one to try, while none is known. */
  #turn = 0

  constructor(addresses: readonly Address[], login: Login) {
    this.#addresses = addresses
    this.#login = login
    if (!this.isOneOfSeveral) this.#known = addresses[0]
  }

  get isOneOfSeveral(): boolean {
    return this.#addresses.length > 1
  }

  /** The primary as far as it is known; else one server after the other. */
  get guess(): Address {
    return this.#known ?? this.#addresses[this.#turn % this.#addresses.length]!
  }

  /** Throws if no server answers as a primary. */
  find(): Promise<Address> {
    if (this.#known) return Promise.resolve(this.#known)
    this.#search ??= this.#ask().finally(() => {
      this.#search = undefined
    })
    return this.#search
  }

  /** The server at this address does not answer, or is a standby: the next `find` asks all of them. */
  missed(address: Address): void {
    if (!this.isOneOfSeveral || this.guess !== address) return
    this.#known = undefined
    this.#turn = this.#addresses.indexOf(address) + 1
  }

  async #ask(): Promise<Address> {
    try {
      this.#known = await Promise.any(this.#addresses.map((address) => this.#loggedIn(address)))
      return this.#known
    } catch (error) {
      const { errors } = error as AggregateError
      throw errors.find((each) => !isStandby(each)) ?? errors[0]
    }
  }

  async #loggedIn(address: Address): Promise<Address> {
    const client = new ScramClient({ ...address, ...this.#login, connectionTimeoutMillis: answerMs })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return address
    } finally {
      void client.end().catch(() => undefined)
    }
  }
}

const answerMs = 3_000

/**
 * Connects to the primary. If the server that was one last does not answer, or is a standby by now, the others are asked and
 * the primary among them is tried.
 */
export async function connectToPrimary<T>(
  primary: Primary,
  connect: (address: Address) => Promise<T>,
): Promise<T> {
  const first = await primary.find()
  try {
    return await connect(first)
  } catch (error) {
    if (!primary.isOneOfSeveral || !isAbsent(error)) throw error
    primary.missed(first)
    return connect(await primary.find())
  }
}

/** No primary answers there. One that has no connection left is still the primary. */
export const isAbsent = (error: unknown) =>
  isStandby(error) || (isConnectionLoss(error) && !hasSqlstate(error, sqlstate.tooManyConnections))
