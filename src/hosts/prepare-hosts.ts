import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '../errors.ts'
import { prepareHostDatabase } from '../postgres/control/control-database.ts'
import { firstHostId } from '../postgres/hosts.ts'
import { isOutOfReach } from '../postgres/sqlstate.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { closeDatabases } from './close-databases.ts'
import { closeHost } from './host-store.ts'
import type { Installation } from './installation.ts'
import { unknownHosts } from './load-hosts.ts'
import { moveRolePasswords } from './secret/role-passwords.ts'
import { migrateTenants, prepareTemplate } from './tenant-databases.ts'

/**
 * Migrates the template and the tenants of every host. Fails if the first host fails. Any other host that does not
 * answer, is a standby, cannot be changed now, or has an address that cannot be read here is left for later: its id is
 * returned. So one bad host does not block processes and commands, such as the command that gives it another address.
 */
export async function prepareHosts(installation: Installation): Promise<readonly number[]> {
  const { hosts } = installation.databases
  // Before the preparation: one that can be read meanwhile is prepared later.
  const unknown = unknownHosts(hosts)
  const left = await prepareEach(
    installation,
    hosts.all().map(({ id }) => id),
  )
  hosts.settleFirst()
  return [...left, ...unknown]
}

/** Retries the hosts that were left, until all are prepared or the signal fires. */
export async function prepareLater(
  installation: Installation,
  left: readonly number[],
  signal: AbortSignal,
  everyMs = retryMs,
): Promise<void> {
  let waiting = left
  while (waiting.length > 0) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted) return
    waiting = await prepareEach(installation, waiting).catch((error: unknown) => {
      installation.log.error({ err: error }, 'cannot prepare a database host')
      return waiting
    })
  }
}

async function prepareEach(installation: Installation, ids: readonly number[]): Promise<readonly number[]> {
  const { hosts } = installation.databases
  const left = unknownHosts(hosts).filter((id) => ids.includes(id))
  // Removed hosts need nothing.
  const known = hosts.all().filter(({ id }) => ids.includes(id))
  for (const { id, name: host } of known) {
    try {
      const isComplete = await prepareHost(installation, id)
      await moveRolePasswords(installation, id)
      if (!isComplete) left.push(id)
    } catch (error) {
      if (id === firstHostId) throw error
      const level = isOutOfReach(error) ? 'warn' : 'error'
      installation.log[level]({ host, err: error }, 'a database host is not ready: its tenants must wait')
      left.push(id)
    }
  }
  return left
}

/** Migrates the service's own database, the template and the tenants of a host. False: some tenants must wait. */
export async function prepareHost(installation: Installation, id: number): Promise<boolean> {
  if (installation.databases.hosts.isControlOnly(id)) {
    await closeToTenants(installation, id)
    return closeDatabases(installation, id)
  }
  if (id !== firstHostId) await prepareHostDatabase(installation.databases, id, installation.hostMigrations)
  await prepareTemplate(installation, id)
  const isClosed = await closeDatabases(installation, id)
  return (await migrateTenants(installation, id)) && isClosed
}

/** The login there is no superuser, so tenants would keep rights that Cartage takes away. */
async function closeToTenants({ databases, log }: Installation, id: number): Promise<void> {
  const { control, hosts } = databases
  const { name: host } = hosts.get(id)
  await inTransaction(control, async (tx) => {
    const count = await closeHost(tx, id)
    if (count > 0)
      throw errors.hostInvalid(
        `The login of CARTAGE_DATABASE_URL is not a superuser, but its server has databases of users (${count}): start with a superuser, and move them to another host first (cartage host drain ${host})`,
      )
  })
  log[hosts.forTenants().length > 0 ? 'info' : 'warn']({ host }, controlOnlyAdvice)
}

const retryMs = 30_000

/** Advice on the first host, if the login of CARTAGE_DATABASE_URL is not a superuser. */
export const controlOnlyAdvice =
  'The login of CARTAGE_DATABASE_URL is not a superuser: its server has only the control database and takes no users. They need another host: cartage host add'
