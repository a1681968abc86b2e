import type { Session } from '../session.ts'

/** Returns those of the processes that are backends, with their role, and whether each waits for its client. */
export type LookAtBackends = (
  hostId: number,
  processIds: readonly number[],
) => Promise<readonly Readonly<{ pid: number; role: string; start: string; is_waiting: boolean }>[]>

export type EndBackend = (hostId: number, pid: number, start: string) => Promise<unknown>

type Wait = { traffic: number; looks: number }

/**
 * Ends half-open connections: the service waits for the server, and the backend waits for the service, or is gone.
 * Neither side would notice if a proxy between them keeps both connections open. A running statement is left alone,
 * however long it takes, and so are all sessions of a host that does not answer.
 */
export class ForgottenSessions {
  readonly #sessions: ReadonlySet<Session>
  readonly #look: LookAtBackends
  readonly #end: EndBackend
  readonly #waits = new WeakMap<Session, Wait>()
  readonly #timer: NodeJS.Timeout
  #isLooking = false

  constructor(sessions: ReadonlySet<Session>, look: LookAtBackends, end: EndBackend) {
    this.#sessions = sessions
    this.#look = look
    this.#end = end
    this.#timer = setInterval(() => this.#lookAtAll(), betweenLooksMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #lookAtAll(): void {
    if (this.#isLooking) return
    const silent = this.#silent()
    if (silent.length === 0) return
    this.#isLooking = true
    const looks = [...new Set(silent.map(({ target }) => target.hostId))].map((hostId) => {
      const sessions = silent.filter(({ target }) => target.hostId === hostId)
      return this.#lookAt(hostId, sessions).catch(() => this.#beginAnew(sessions))
    })
    void Promise.all(looks).finally(() => {
      this.#isLooking = false
    })
  }

  /** Sessions that wait for the server, without traffic since the last round. */
  #silent(): Session[] {
    return [...this.#sessions].filter((session) => {
      const traffic = session.trafficWhileWaiting
      if (traffic === undefined) this.#waits.delete(session)
      else if (this.#waits.get(session)?.traffic === traffic) return true
      else this.#waits.set(session, { traffic, looks: 0 })
      return false
    })
  }

  async #lookAt(hostId: number, sessions: readonly Session[]): Promise<void> {
    const found = await this.#look(
      hostId,
      sessions.map(({ processId }) => processId),
    )
    for (const session of sessions) {
      const backend = found.find(({ pid, role }) => pid === session.processId && role === session.target.role)
      if (!this.#isForgotten(session, backend?.is_waiting ?? true)) continue
      if (backend) await this.#end(hostId, backend.pid, backend.start).catch(() => undefined)
      // Read what has arrived meanwhile: it may have been late, or this process may have been paused.
      if (this.#isStillSilent(session)) void session.destroy()
    }
  }

  #isForgotten(session: Session, isWaiting: boolean): boolean {
    const wait = this.#waits.get(session)
    if (!wait || !this.#isStillSilent(session)) return false
    wait.looks = isWaiting ? wait.looks + 1 : 0
    return wait.looks >= mostLooks
  }

  #isStillSilent(session: Session): boolean {
    const traffic = session.trafficWhileWaiting
    return traffic !== undefined && this.#waits.get(session)?.traffic === traffic
  }

  #beginAnew(sessions: readonly Session[]): void {
    for (const session of sessions) this.#waits.delete(session)
  }
}

const betweenLooksMs = 4_000
/** Several rounds, as either side may be slow to get the other's data. */
const mostLooks = 3
