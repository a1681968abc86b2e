import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { endBackend } from '../../../src/postgres/end-backend.ts'
import { adminTarget } from '../../../src/postgres/session-target.ts'
import type { Setup, TestUser } from '../../support/service/setup.ts'

/**
 * Calls functions in its own sessions, and ends those that take too long as the service does. `complaints` lists what
 * must not happen: a server that crashed, a backend that did not end in time.
 */
export class HostileCaller {
  readonly complaints: string[] = []
  ended = 0
  readonly #house: Setup
  readonly #user: TestUser
  readonly #sessions = new Map<string, pg.Client>()
  /** A session that only a crash of the server ends. */
  #witness: pg.Client | undefined

  constructor(house: Setup, user: TestUser) {
    this.#house = house
    this.#user = user
  }

  async call(role: string, text: string, patienceMs: number): Promise<void> {
    this.#witness ??= await connect({ connectionString: this.#house.keys.adminUrl })
    const session = this.#sessions.get(role) ?? (await this.#logIn(role))
    const answer = session.query(text).then(
      () => 'answered',
      (error: { code?: string }) => (error.code && !error.code.startsWith('57P') ? 'refused' : 'lost'),
    )
    const outcome = await within(answer, patienceMs)
    if (outcome === 'answered' || outcome === 'refused') return
    this.#sessions.delete(role)
    if (outcome === 'late') await this.#end(session, text)
    void session.end().catch(() => undefined)
    if (outcome !== 'lost' && (await this.#stands())) return
    this.complaints.push(`the server ended the session: ${text}`)
    await this.#beginAnew()
  }

  async close(): Promise<void> {
    const all = [...this.#sessions.values(), ...(this.#witness ? [this.#witness] : [])]
    await Promise.all(all.map((session) => session.end()))
  }

  async #stands(): Promise<boolean> {
    return this.#witness!.query('select 1').then(
      () => true,
      () => false,
    )
  }

  /** On a busy machine the administrator may get no connection in time. */
  async #end(session: pg.Client, text: string): Promise<void> {
    this.ended += 1
    for (let attempt = 1; ; attempt++) {
      try {
        if (!(await this.#hasEnded(session))) this.complaints.push(`does not end within 2 s: ${text}`)
        return
      } catch (error) {
        if (!(await this.#stands())) return
        if (attempt === 3) throw error
      }
    }
  }

  async #hasEnded(session: pg.Client): Promise<boolean> {
    const { databases } = this.#house.service.services
    const pid = (session as unknown as { processID: number }).processID
    const { hostId } = this.#user.account
    return databases.admin.use(adminTarget(databases.hosts, hostId), async (administrator) => {
      const { rows } = await administrator.query<{ start: string }>(
        'select backend_start::text as start from pg_catalog.pg_stat_activity where pid = $1',
        [pid],
      )
      return rows.length === 0 || endBackend(administrator, { pid, backendStart: rows[0]!.start }, 2_000)
    })
  }

  async #logIn(role: string): Promise<pg.Client> {
    const { databases, secrets } = this.#house.service.services
    const session = await connect({
      ...databases.hosts.get(this.#user.account.hostId).addresses[0],
      database: this.#user.account.database,
      user: role,
      password: secrets.rolePassword(role),
      options: '-c search_path=public,cartodb,postgis',
      // As text: NaN is valid on the server but not in JSON.
      types: { getTypeParser: () => String },
    })
    this.#sessions.set(role, session)
    return session
  }

  /** A crash of the server has ended all sessions. */
  async #beginAnew(): Promise<void> {
    this.#sessions.clear()
    void this.#witness?.end().catch(() => undefined)
    this.#witness = undefined
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

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  const session = new pg.Client(config)
  session.on('error', () => undefined)
  await session.connect()
  return session
}

async function within<T>(answer: Promise<T>, patienceMs: number): Promise<T | 'late'> {
  const waiting = new AbortController()
  const late = sleep(patienceMs, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
  const first = await Promise.race([answer, late])
  waiting.abort()
  return first
}
