import { operator, recordAudit } from '../audit/audit-store.ts'
import { errors } from '../errors.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { setAcceptsUsers } from './host-store.ts'
import type { Installation } from './installation.ts'
import { type ListedHost, readHost } from './list-hosts.ts'
import { controlOnlyAdvice } from './prepare-hosts.ts'

/** Whether users are made on a host and move there. Those that are there stay. */
export async function changeHost(
  installation: Installation,
  name: string,
  acceptsUsers: boolean,
): Promise<ListedHost> {
  if (acceptsUsers) refuseControlOnly(installation, name)
  await inTransaction(installation.databases.control, async (tx) => {
    if (!(await setAcceptsUsers(tx, name, acceptsUsers)))
      throw errors.hostInvalid(`There is no host '${name}'`)
    await recordAudit(tx, {
      actor: operator,
      action: 'host.changed',
      subject: name,
      details: { accepts_users: acceptsUsers },
    })
  })
  return readHost(installation, name)
}

function refuseControlOnly({ databases: { hosts } }: Installation, name: string): void {
  if (hosts.all().some((host) => host.name === name && hosts.isControlOnly(host.id)))
    throw errors.hostInvalid(controlOnlyAdvice)
}
