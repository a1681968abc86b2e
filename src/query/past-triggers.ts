import type { Principal } from '../auth/account.ts'
import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Commands that can create a relation without firing event triggers: EXPLAIN ANALYZE does, and DO can run one. */
export const evadesTriggers = (tag: string) => tag === 'EXPLAIN' || tag === 'DO' || tag === 'COMMIT PREPARED'

/**
 * Checks what keys created with such commands. One check at a time per user, and waiting requests of one key share the
 * next one, so that no account takes all of the administrator's connections.
 */
export class PastTriggers {
  readonly #databases: Databases
  readonly #log: Log
  /** By role: the check that has not begun. */
  readonly #waiting = new Map<string, Promise<void>>()
  /** By user: the last check. */
  readonly #last = new Map<number, Promise<void>>()

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
  }

  /** Checks what is committed so far. Failures are only logged, and it ends within seconds. */
  check(principal: Principal): Promise<void> {
    return this.#waiting.get(principal.key.role) ?? this.#enqueue(principal)
  }

  #enqueue(principal: Principal): Promise<void> {
    const { userId } = principal.account
    const { role } = principal.key
    const isFree = this.#last.get(userId) ?? Promise.resolve()
    const look = isFree.then(async () => {
      this.#waiting.delete(role)
      await this.#look(principal)
      if (this.#last.get(userId) === look) this.#last.delete(userId)
    })
    this.#waiting.set(role, look)
    this.#last.set(userId, look)
    return look
  }

  async #look({ account, key }: Principal): Promise<void> {
    const { admin, hosts } = this.#databases
    try {
      await admin.use(adminTarget(hosts, account.hostId, account.database), async (session) => {
        await session.query(`set statement_timeout = '5s'; set lock_timeout = '1s'`)
        await endingBlockers(this.#databases, session, () => checkAll(session, key.role))
        await session.query('select cartage.follow_made_past_triggers()')
      })
    } catch (error) {
      this.#log.warn(
        { err: error, role: key.role },
        'cannot check what a key created with EXPLAIN ANALYZE or DO',
      )
    }
  }
}

async function checkAll(session: Session, role: string): Promise<void> {
  const startedAt = performance.now()
  const checkSome = async () => {
    const { rows } = await session.query<{ corrected: number }>(
      'select cartage.check_made_past_triggers($1) as corrected',
      [role],
    )
    return rows[0]!.corrected
  }
  while ((await checkSome()) > 0 && performance.now() - startedAt < longestMs);
}

/** Objects beyond this time are checked with the next such request. */
const longestMs = 5_000
