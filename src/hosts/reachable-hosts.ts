import { setTimeout as sleep } from 'node:timers/promises'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** The hosts that answer now: where a new account may be placed. */
export async function reachableHosts({ admin, hosts }: Databases): Promise<readonly number[]> {
  const ids = hosts.all().map(({ id }) => id)
  // With one host there is no choice; if it is down, the attempt itself reports it.
  if (ids.length === 1) return ids
  const late = sleep(patienceMs, false, { ref: false })
  const verdicts = await Promise.all(
    ids.map((id) => {
      const answer = admin.use(adminTarget(hosts, id), (session) => session.query('select 1'))
      const isThere = answer.then(
        () => true,
        () => false,
      )
      return Promise.race([isThere, late])
    }),
  )
  const reachable = ids.filter((_id, place) => verdicts[place])
  return reachable.length > 0 ? reachable : ids
}

const patienceMs = 2_000
