import type { Host } from '../hosts.ts'
import { HostWatch } from './host-watch.ts'
import type { GuardOptions } from './look.ts'

/**
 * Checks every host on an administrator's connection that is always open: tenants may block all logins to a cluster,
 * even the administrator's. Every process checks for itself; a check takes some milliseconds.
 */
export class HostGuard {
  readonly #options: GuardOptions
  readonly #watches = new Map<number, HostWatch>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: GuardOptions) {
    this.#options = options
    options.hosts.onMoved((id) => this.#leave(id))
  }

  start(): void {
    this.#follow()
    this.#timer = setInterval(() => this.#follow(), followMs).unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await Promise.all([...this.#watches.values()].map((watch) => watch.stop()))
  }

  /** Hosts watched now: those with an open connection. */
  watched(): readonly Host[] {
    return [...this.#watches.values()].filter(({ isConnected }) => isConnected).map(({ host }) => host)
  }

  /** Hosts can be added while the service runs. */
  #follow(): void {
    const { hosts, looks, onEnded, log } = this.#options
    for (const host of hosts.forTenants()) {
      if (this.#isStopped || this.#watches.has(host.id)) continue
      const watch = new HostWatch({ host, hosts, looks, onEnded, log })
      this.#watches.set(host.id, watch)
      watch.start()
    }
  }

  /** The host has a new address, or was removed. */
  #leave(id: number): void {
    void this.#watches.get(id)?.stop()
    this.#watches.delete(id)
    this.#follow()
  }
}

const followMs = 1_000
