import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { settlesWithin } from '../waiting/settles-within.ts'

/** The hosts that answer now: where a new account may be placed. */
export async function reachableHosts({ admin, hosts }: Databases): Promise<readonly number[]> {
  const ids = hosts.all().map(({ id }) => id)
  // With one host there is no choice; if it is down, the attempt itself reports it.
  if (ids.length === 1) return ids
  const answered = new Set<number>()
  const asked = ids.map(async (id) => {
    await admin.use(adminTarget(hosts, id), (session) => session.query('select 1'))
    answered.add(id)
  })
  await settlesWithin(Promise.allSettled(asked), patienceMs)
  const reachable = ids.filter((id) => answered.has(id))
  return reachable.length > 0 ? reachable : ids
}

const patienceMs = 2_000
