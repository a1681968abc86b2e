import { isDeepStrictEqual } from 'node:util'
import type { ClientConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { errors } from '../errors.ts'

/** A PostgreSQL cluster: where it is, and who administers it. */
export type Host = Readonly<{
  id: number
  name: string
  address: Readonly<Pick<ClientConfig, 'host' | 'port' | 'ssl'>>
  adminRole: string
  adminPassword: string
  adminDatabase: string
}>

export function hostFromUrl(id: number, name: string, url: string): Host {
  const { host, port, user, password, database, ssl } = parse(url)
  return {
    id,
    name,
    address: {
      host: host || '127.0.0.1',
      port: Number(port) || 5432,
      ...(ssl === undefined ? {} : { ssl: ssl as NonNullable<ClientConfig['ssl']> }),
    },
    adminRole: user || 'postgres',
    adminPassword: password || '',
    adminDatabase: database || 'postgres',
  }
}

/** Where it is, without who and with which password. */
export const addressOf = ({ address }: Host) => `${address.host}:${address.port}`

/** The clusters known to this process. Host 1 is the one that holds the control database. */
export class Hosts {
  readonly #hosts = new Map<number, Host>()
  readonly #listeners: ((id: number) => void)[] = []

  /** The same host again, as every change of accounts tells it, changes nothing. */
  register(host: Host): void {
    const before = this.#hosts.get(host.id)
    if (isDeepStrictEqual(before, host)) return
    this.#hosts.set(host.id, host)
    if (before) this.#tellMoved(host.id)
  }

  forget(id: number): void {
    if (this.#hosts.delete(id)) this.#tellMoved(id)
  }

  /** Calls `listener` whenever a host has another address or administrator than before, or none. */
  onMoved(listener: (id: number) => void): void {
    this.#listeners.push(listener)
  }

  get(id: number): Host {
    const host = this.#hosts.get(id)
    // Registered by another process a moment ago, while this one was cut off from the news.
    if (!host) throw errors.databaseUnavailable(new Error(`host ${id} is not registered`))
    return host
  }

  has(id: number): boolean {
    return this.#hosts.has(id)
  }

  /** Whether it still is as it was when it was got. */
  isCurrent(host: Host): boolean {
    return this.#hosts.get(host.id) === host
  }

  all(): readonly Host[] {
    return [...this.#hosts.values()]
  }

  #tellMoved(id: number): void {
    for (const listener of this.#listeners) listener(id)
  }
}

export const firstHostId = 1
