import { type Account, masterTargetOf } from '../../auth/account.ts'
import type { Installation } from '../../hosts/installation.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { masterRoleOf } from '../../postgres/tenant-names.ts'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import type { Household } from './household.ts'
import type { Way } from './move.ts'
import { readFilledViews } from './owners.ts'

/** The first login through a pool limits the temporary files of a database. */
export async function logInFirst({ databases }: Installation, place: Account): Promise<void> {
  await databases.job.use(masterTargetOf(place), (session) => session.query('select'))
}

/** Fills materialized views, each as its owner, in this order. `oids`: of the views on the old host. */
export async function fillViews(
  { databases }: Installation,
  { database, members }: Household,
  { fromHostId, toHostId }: Way,
  oids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (oids.length === 0) return
  const place = adminTarget(databases.hosts, fromHostId, database)
  const views = await databases.admin.use(place, (session) => readFilledViews(session, oids))
  for (const { name, owner } of views) {
    const account = members.find(({ masterRole }) => masterRole === masterRoleOf(owner))!
    const target = { ...masterTargetOf({ ...account, hostId: toHostId }), role: owner }
    await databases.job.use(target, async (session) => {
      const refresh = session.onClient((client) => client.query(`refresh materialized view ${name}`))
      await unlessAborted(signal, refresh).catch(async (error: unknown) => {
        // Its query may never end.
        if (signal.aborted) await session.destroy()
        throw error
      })
    })
  }
}
