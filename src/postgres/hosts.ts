import { isDeepStrictEqual } from 'node:util'
import type { ClientConfig } from 'pg'
import { parse } from 'pg-connection-string'
import { errors } from '../errors.ts'
import { type Address, Primary } from './primary.ts'
import type { TenantDatabase } from './tenant-names.ts'

/** A PostgreSQL cluster: the addresses of its servers, and its administrator. */
export type Host = Readonly<{
  id: number
  name: string
  addresses: readonly Address[]
  /** Which of them takes writes. */
  primary: Primary
  adminRole: string
  adminPassword: string
  adminDatabase: string
  /** The host whose standby this is, if it is a replica: only reads go there. */
  replicaOf?: number
}>

/** The address may name several servers of one cluster, as libpq has it: `postgresql://user@a:5432,b:5432/database`. */
export function hostFromUrl(id: number, name: string, url: string): Host {
  const { before, servers, after } = partsOf(url)
  const parsed = servers.map((server) => parse(`${before}${server}${after}`))
  const { user, password, database, target_session_attrs: wanted } = parsed[0] as Parsed
  if (wanted !== undefined && !['read-write', 'primary', 'any'].includes(wanted))
    throw errors.hostInvalid(`target_session_attrs=${wanted.slice(0, 100)}: only a primary can be used`)
  const addresses = parsed.map(({ host, port, ssl }) => ({
    host: host || '127.0.0.1',
    port: Number(port) || 5432,
    ...(ssl === undefined ? {} : { ssl: ssl as NonNullable<ClientConfig['ssl']> }),
  }))
  const adminRole = user || 'postgres'
  const adminPassword = password || ''
  const adminDatabase = database || 'postgres'
  const admin = { adminRole, adminPassword, adminDatabase }
  return { id, name, addresses, primary: new Primary(addresses, adminLogin(admin)), ...admin }
}

/** As `pg` names it. */
export const adminLogin = ({ adminRole, adminPassword, adminDatabase }: Administrator) => ({
  user: adminRole,
  password: adminPassword,
  database: adminDatabase,
})

type Administrator = Pick<Host, 'adminRole' | 'adminPassword' | 'adminDatabase'>

type Parsed = ReturnType<typeof parse> & Readonly<{ target_session_attrs?: string }>

/** A URL has no place for several servers. */
function partsOf(url: string) {
  const [, before, servers, after] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*,[^/?#@]*)((?:[/?#].*)?)$/s.exec(url) ?? []
  if (before === undefined) return { before: '', servers: [url], after: '' }
  const names = servers!.split(',')
  if (names.includes('')) throw errors.hostInvalid('The address has an empty server name: check its commas')
  return { before, servers: names, after: after! }
}

/** Where it is, without user or password. */
export const addressOf = ({ addresses }: Host) =>
  addresses.map(({ host = '', port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')

/** The clusters known to this process. Host 1 has the control database, and nothing else if its login is no superuser. */
export class Hosts {
  readonly #hosts = new Map<number, Host>()
  readonly #replicas = new Map<number, Host>()
  #fences: ReadonlyMap<string, bigint> = new Map()
  #isFirstControlOnly = false
  #isFirstSettled = false
  readonly #listeners = new Set<(id: number) => void>()

  /** The same hosts, with one of them added or changed. Neither registry hears of later changes of the other. */
  with(host: Host): Hosts {
    const hosts = new Hosts()
    for (const known of this.all()) if (known.id !== host.id) hosts.register(known)
    hosts.register(host)
    hosts.#isFirstControlOnly = this.#isFirstControlOnly
    hosts.#isFirstSettled = this.#isFirstSettled
    return hosts
  }

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

  /** All replicas, in place of those known before. `fences`: by `placeOf`, the position that one must have replayed. */
  setReplicas(replicas: readonly Host[], fences: ReadonlyMap<string, bigint>): void {
    this.#fences = fences
    for (const { id } of this.#replicas.values())
      if (!replicas.some((replica) => replica.id === id)) this.#forgetReplica(id)
    for (const replica of replicas) {
      const before = this.#replicas.get(replica.id)
      if (isDeepStrictEqual(before, replica)) continue
      this.#replicas.set(replica.id, replica)
      if (before) this.#notifyMoved(replica.id)
    }
  }

  #forgetReplica(id: number): void {
    this.#replicas.delete(id)
    this.#notifyMoved(id)
  }

  /** The replicas of one host, or of all hosts. */
  replicas(hostId?: number): readonly Host[] {
    const all = [...this.#replicas.values()]
    return hostId === undefined ? all : all.filter(({ replicaOf }) => replicaOf === hostId)
  }

  /** Where the last change of rights in a database is in the log of its host. */
  fenceOf(hostId: number, database: string): bigint {
    return this.#fences.get(placeOf({ hostId, database })) ?? 0n
  }

  /** Calls `listener` when a host's address or administrator changes, or the host is removed. Returns how to stop that. */
  onMoved(listener: (id: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A host, or a replica. */
  get(id: number): Host {
    const host = this.#hosts.get(id) ?? this.#replicas.get(id)
    // Another process may have registered it while this one missed the notification.
    if (!host) throw errors.databaseUnavailable(new Error(`host ${id} is not registered`))
    return host
  }

  has(id: number): boolean {
    return this.#hosts.has(id) || this.#replicas.has(id)
  }

  /** False once the host has been changed or removed. */
  isCurrent(host: Host): boolean {
    return (this.#hosts.get(host.id) ?? this.#replicas.get(host.id)) === host
  }

  /** Without replicas. */
  all(): readonly Host[] {
    return [...this.#hosts.values()]
  }

  /** The same without the first one, if it has only the control database. */
  forTenants(): readonly Host[] {
    return this.all().filter(({ id }) => !this.isControlOnly(id))
  }

  /** What the first host is for does not change any more, whatever becomes of the login. */
  settleFirst(): void {
    this.#isFirstSettled = true
  }

  get isFirstSettled(): boolean {
    return this.#isFirstSettled
  }

  /** From now on this process needs no superuser on the first host, and makes nothing of a tenant there. */
  useFirstForControlOnly(): void {
    this.#isFirstControlOnly = true
  }

  isControlOnly(id: number): boolean {
    return id === firstHostId && this.#isFirstControlOnly
  }

  #notifyMoved(id: number): void {
    for (const listener of this.#listeners) listener(id)
  }
}

/** For a list: of a host whose address this process cannot read, `unknown`. */
export const knownAddress = (hosts: Hosts, id: number) =>
  hosts.has(id) ? addressOf(hosts.get(id)) : 'unknown'

export const placeOf = ({ hostId, database }: TenantDatabase) => `${hostId}/${database}`

export const firstHostId = 1
