import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../session.ts'
import type { SessionTarget } from '../session-target.ts'

/** Returns those of the processes that are still backends, with their role and start time. */
export type FindBackends = (
  hostId: number,
  processIds: readonly number[],
) => Promise<readonly Readonly<{ pid: number; role: string; start: string }>[]>

type LingeringBackend = {
  readonly target: SessionTarget
  readonly pid: number
  start?: string | undefined
  gone: () => void
}

/**
 * Backends that were cut off in the middle of a statement. Most end within a second. A backend that computes in a
 * library that checks for no signal goes on until it is done, and uses a processor meanwhile.
 */
export class LingeringBackends {
  readonly #find: FindBackends
  readonly #hosts = new Map<number, Set<LingeringBackend>>()

  constructor(find: FindBackends) {
    this.#find = find
  }

  /** Resolves when PostgreSQL no longer lists the session's backend. */
  gone({ target, processId: pid }: Session): Promise<void> {
    return new Promise((resolve) => {
      const backends = this.#hosts.get(target.hostId)
      const backend = { target, pid, gone: resolve }
      if (backends) backends.add(backend)
      else void this.#watch(target.hostId, new Set([backend]))
    })
  }

  async #watch(hostId: number, backends: Set<LingeringBackend>): Promise<void> {
    this.#hosts.set(hostId, backends)
    for (let pauseMs = shortestMs; backends.size > 0; pauseMs = Math.min(2 * pauseMs, longestMs)) {
      await sleep(pauseMs, undefined, { ref: false })
      // If the host does not answer, ask again.
      await this.#look(hostId, backends).catch(() => undefined)
    }
    this.#hosts.delete(hostId)
  }

  async #look(hostId: number, backends: Set<LingeringBackend>): Promise<void> {
    const asked = [...backends]
    const found = await this.#find(
      hostId,
      asked.map(({ pid }) => pid),
    )
    for (const backend of asked) {
      const same = found.find(({ pid, role }) => pid === backend.pid && role === backend.target.role)
      backend.start ??= same?.start
      // The pid may have been reused.
      if (same && same.start === backend.start) continue
      backends.delete(backend)
      backend.gone()
    }
  }
}

const shortestMs = 50
const longestMs = 1_000
