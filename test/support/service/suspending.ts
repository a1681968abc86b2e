import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createAdminClient } from '../../../src/client/client.ts'
import { eventually, type Setup, type TestUser } from './setup.ts'

export const reason = 'The invoice of May is open'

/** Suspends and resumes the user of a set-up, as the operator does. */
export function suspending(t: TestContext, { url, keys, user }: Pick<Setup, 'url' | 'keys' | 'user'>) {
  const operator = createAdminClient({ baseUrl: url, token: keys.adminToken! })
  t.after(() => operator.close())
  return {
    operator,
    suspend: () => operator.users.suspend(user.username, reason),
    resume: () => operator.users.resume(user.username),
  }
}

/** Waits until one statement in the user's database sleeps. */
export const untilAsleep = (admin: Setup['admin'], { account }: TestUser) =>
  eventually(async () => {
    const asked = `select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`
    assert.equal((await admin(asked, [account.database])).rowCount, 1)
  })
