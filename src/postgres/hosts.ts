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

  register(host: Host): void {
    this.#hosts.set(host.id, host)
  }

  forget(id: number): void {
    this.#hosts.delete(id)
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

  all(): readonly Host[] {
    return [...this.#hosts.values()]
  }
}

export const firstHostId = 1
