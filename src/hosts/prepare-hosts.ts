import { setTimeout as sleep } from 'node:timers/promises'
import { prepareHostDatabase } from '../postgres/control-database.ts'
import { firstHostId } from '../postgres/hosts.ts'
import type { AccountsContext } from './installation.ts'
import { isOutOfReach } from './out-of-reach.ts'
import { moveRolePasswords } from './role-passwords.ts'
import { migrateTenants, prepareTemplate } from './tenant-databases.ts'

/**
 * Brings the template and the tenants of every host up to date. Without the first host nothing works; another one
 * that does not answer, or has a tenant's database that cannot be changed now, is left for later: its id is in the answer.
 */
export async function prepareHosts(context: AccountsContext): Promise<readonly number[]> {
  const ids = context.databases.hosts.all().map(({ id }) => id)
  return prepareEach(context, ids)
}

/** Tries the hosts that were left again and again, until all are prepared or the signal fires. */
export async function prepareLater(
  context: AccountsContext,
  left: readonly number[],
  signal: AbortSignal,
): Promise<void> {
  let waiting = left
  while (waiting.length > 0) {
    await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted) return
    waiting = await prepareEach(context, waiting).catch((error: unknown) => {
      context.log.error({ err: error }, 'cannot bring a database host up to date')
      return waiting
    })
  }
}

async function prepareEach(context: AccountsContext, ids: readonly number[]): Promise<readonly number[]> {
  const left: number[] = []
  for (const id of ids) {
    try {
      const isComplete = await prepareHost(context, id)
      await moveRolePasswords(context, id)
      if (!isComplete) left.push(id)
    } catch (error) {
      if (id === firstHostId || !isOutOfReach(error)) throw error
      const host = context.databases.hosts.get(id).name
      context.log.warn({ host, err: error }, 'a database host does not answer: its tenants must wait')
      left.push(id)
    }
  }
  return left
}

/** Brings the service's own database, the template and the tenants of a host up to date. False: some tenants must wait. */
export async function prepareHost(context: AccountsContext, id: number): Promise<boolean> {
  if (id !== firstHostId) await prepareHostDatabase(context.databases, id, context.hostMigrations)
  await prepareTemplate(context, id)
  return migrateTenants(context, id)
}

const retryMs = 30_000
