import assert from 'node:assert/strict'
import { eventually, type Setup, type TestUser } from '../service/setup.ts'

/** The backend of this user that sleeps in `pg_sleep`. */
export async function sleepingBackend(
  { admin }: Pick<Setup, 'admin'>,
  { account }: TestUser,
): Promise<number> {
  return eventually(async () => {
    const { rows } = await admin(
      `select pid from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`,
      [account.database],
    )
    assert.equal(rows.length, 1)
    return rows[0].pid
  })
}

/**
 * Runs `work` while a backend is stopped, then lets it continue. A stopped backend ignores cancel and terminate, like
 * one that computes in a library; but it needs no core, and continues when the test says so.
 */
export async function whileStopped<T>(pid: number, work: () => Promise<T>): Promise<T> {
  process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    wakeBackend(pid)
  }
}

export function wakeBackend(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has ended.
  }
}
