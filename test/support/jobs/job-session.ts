import type { TestContext } from 'node:test'
import type { Session } from '../../../src/postgres/session.ts'
import type { Setup, TestUser } from '../service/setup.ts'

/** A session in the user's database that can hold locks, with the master role by default. It ends with the test. */
export async function jobSession(
  t: TestContext,
  { service }: Pick<Setup, 'service'>,
  { account }: TestUser,
  { role = account.masterRole, searchPath = 'public' } = {},
): Promise<Session> {
  const { hostId, database } = account
  const session = await service.services.databases.job.acquire({ hostId, database, role, searchPath })
  t.after(() => session.destroy())
  return session
}
