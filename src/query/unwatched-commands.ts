import type { Principal } from '../auth/account.ts'
import type { Log } from '../log.ts'
import type { Databases } from '../postgres/databases.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Commands that can make a relation past PostgreSQL's event triggers: EXPLAIN ANALYZE does, and DO can run one. */
export const isUnwatched = (tag: string) => tag === 'EXPLAIN' || tag === 'DO' || tag === 'COMMIT PREPARED'

/**
 * Judges what keys made by such commands. One look at a time for each role: whoever asks meanwhile shares the next one, so
 * that no account takes the administrator's connections.
 */
export class UnwatchedCommands {
  readonly #databases: Databases
  readonly #log: Log
  readonly #waiting = new Map<string, Promise<void>>()
  readonly #running = new Map<string, Promise<void>>()

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
  }

  /** Looks at what is committed by now. Tells nobody of a failure, and ends in seconds. */
  judge(principal: Principal): Promise<void> {
    return this.#waiting.get(principal.key.role) ?? this.#enqueue(principal)
  }

  #enqueue(principal: Principal): Promise<void> {
    const { role } = principal.key
    const isFree = this.#running.get(role) ?? Promise.resolve()
    const look = isFree.then(async () => {
      this.#waiting.delete(role)
      this.#running.set(role, look)
      await this.#look(principal)
      this.#running.delete(role)
    })
    this.#waiting.set(role, look)
    return look
  }

  async #look({ account, key }: Principal): Promise<void> {
    const { admin, hosts } = this.#databases
    try {
      await admin.use(adminTarget(hosts, account.hostId, account.database), async (session) => {
        await session.query(`set statement_timeout = '10s'; set lock_timeout = '1s'`)
        const judge = () => session.query('select cartage.judge_unwatched($1)', [key.role])
        await endingBlockers(this.#databases, session, judge)
        await session.query('select cartage.follow_unwatched()')
      })
    } catch (error) {
      this.#log.warn({ err: error, role: key.role }, 'what a key made by EXPLAIN ANALYZE was not judged')
    }
  }
}
