import { errors } from '../../errors.ts'

/** Roles that get no connection for a while, because they have just harmed others. */
export class PausedRoles {
  readonly #until = new Map<string, number>()

  pause(hostId: number, role: string, pauseMs: number): void {
    for (const [key, until] of this.#until) if (until < performance.now()) this.#until.delete(key)
    this.#until.set(keyOf(hostId, role), performance.now() + pauseMs)
  }

  refuse(hostId: number, role: string): void {
    if (this.#until.size === 0) return
    const leftMs = (this.#until.get(keyOf(hostId, role)) ?? 0) - performance.now()
    if (leftMs > 0) throw errors.rolePaused(Math.ceil(leftMs / 1_000))
  }
}

const keyOf = (hostId: number, role: string) => `${hostId}/${role}`
