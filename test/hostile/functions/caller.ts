import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { endBackend } from '../../../src/postgres/end-backend.ts'
import { adminTarget } from '../../../src/postgres/session-target.ts'
import type { Setup, TestUser } from '../../support/service/setup.ts'

/**
 * Calls functions on sessions of its own, and ends those that take longer than a moment as the service does. `complaints` has
 * what must not happen: a server that has crashed, a backend that has not ended in time.
 */
export class HostileCaller {
  readonly complaints: string[] = []
  ended = 0
  readonly #house: Setup
  readonly #user: TestUser
  readonly #sessions = new Map<string, pg.Client>()

  constructor(house: Setup, user: TestUser) {
    this.#house = house
    this.#user = user
  }

  async call(role: string, text: string, patienceMs: number): Promise<void> {
    const session = this.#sessions.get(role) ?? (await this.#logIn(role))
    const answer = session.query(text).then(
      () => 'answered',
      (error: { code?: string }) => (error.code && !error.code.startsWith('57P') ? 'refused' : 'lost'),
    )
    const outcome = await within(answer, patienceMs)
    if (outcome === 'answered' || outcome === 'refused') return
    this.#sessions.delete(role)
    const hasCrashed = outcome === 'lost' || (await this.#end(session, text).catch(() => true))
    void session.end().catch(() => undefined)
    if (!hasCrashed) return
    this.complaints.push(`the server ended the session: ${text}`)
    await this.#beginAnew()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.end()))
  }

  /** Answers false: the server is there. */
  async #end(session: pg.Client, text: string): Promise<false> {
    this.ended += 1
    const { databases } = this.#house.service.services
    const pid = (session as unknown as { processID: number }).processID
    const { hostId } = this.#user.account
    const hasEnded = await databases.admin.use(
      adminTarget(databases.hosts, hostId),
      async (administrator) => {
        const { rows } = await administrator.query<{ start: string }>(
          'select backend_start::text as start from pg_catalog.pg_stat_activity where pid = $1',
          [pid],
        )
        return rows.length === 0 || endBackend(administrator, { pid, backendStart: rows[0]!.start }, 2_000)
      },
    )
    if (!hasEnded) this.complaints.push(`does not end within 2 s: ${text}`)
    return false
  }

  async #logIn(role: string): Promise<pg.Client> {
    const { databases, secrets } = this.#house.service.services
    const session = new pg.Client({
      ...databases.hosts.get(this.#user.account.hostId).address,
      database: this.#user.account.database,
      user: role,
      password: secrets.rolePassword(role),
      options: '-c search_path=public,cartodb,postgis',
      // As text: NaN in JSON is no error of the server.
      types: { getTypeParser: () => String },
    })
    session.on('error', () => undefined)
    await session.connect()
    this.#sessions.set(role, session)
    return session
  }

  /** A server that has crashed has ended all sessions. */
  async #beginAnew(): Promise<void> {
    this.#sessions.clear()
    for (let look = 0; look < 100; look += 1) {
      const isBack = await this.#house.admin('select 1 as back', [], this.#user.account.database).then(
        () => true,
        () => false,
      )
      if (isBack) return
      await sleep(100)
    }
  }
}

async function within<T>(answer: Promise<T>, patienceMs: number): Promise<T | 'late'> {
  const waiting = new AbortController()
  const late = sleep(patienceMs, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
  const first = await Promise.race([answer, late])
  waiting.abort()
  return first
}
