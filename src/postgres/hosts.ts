import { isDeepStrictEqual } from 'node:util'
import type { ClientConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { errors } from '../errors.ts'

/** A PostgreSQL cluster: its address and administrator. */
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

/** The address, without user or password. */
export const addressOf = ({ address }: Host) => `${address.host}:${address.port}`

/** The clusters known to this process. Host 1 has the control database. */
export class Hosts {
  readonly #hosts = new Map<number, Host>()
  readonly #listeners: ((id: number) => void)[] = []

  /** Registering an unchanged host, as on every account change, does nothing. */
  register(host: Host): void {
    const before = this.#hosts.get(host.id)
    if (isDeepStrictEqual(before, host)) return
    this.#hosts.set(host.id, host)
    if (before) this.#notifyMoved(host.id)
  }

  forget(id: number): void {
    if (this.#hosts.delete(id)) this.#notifyMoved(id)
  }

  /** Calls `listener` when a host's address or administrator changes, or the host is removed. */
  onMoved(listener: (id: number) => void): void {
    this.#listeners.push(listener)
  }

  get(id: number): Host {
    const host = this.#hosts.get(id)
    // Another process may have registered it while this one missed the notification.
    if (!host) throw errors.databaseUnavailable(new Error(`host ${id} is not registered`))
    return host
  }

  has(id: number): boolean {
    return this.#hosts.has(id)
  }

  /** False once the host has been changed or removed. */
  isCurrent(host: Host): boolean {
    return this.#hosts.get(host.id) === host
  }

  all(): readonly Host[] {
    return [...this.#hosts.values()]
  }

  #notifyMoved(id: number): void {
    for (const listener of this.#listeners) listener(id)
  }
}

export const firstHostId = 1
