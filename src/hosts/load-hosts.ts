import { type Hosts, hostFromUrl } from '../postgres/hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { checkSecret } from './check-secret.ts'
import type { Installation } from './installation.ts'

/**
 * Makes the hosts of the control database known to this process. Host 1 is known from the configuration. A process
 * whose secret is not, or no longer, the installation's is turned away here.
 */
export async function loadHosts(
  { databases, secrets }: Installation,
  control: Queryable = databases.control,
): Promise<void> {
  await checkSecret(control, secrets)
  const { rows } = await control.query<{ id: number; name: string; sealed_url: Buffer }>(
    'select id, name, sealed_url from cartage.hosts where sealed_url is not null',
  )
  const ids = new Set(rows.map(({ id }) => id))
  // One that is just being added is not in the table yet: only what was there can have been removed.
  for (const id of loaded.get(databases.hosts) ?? []) if (!ids.has(id)) databases.hosts.forget(id)
  loaded.set(databases.hosts, ids)
  for (const { id, name, sealed_url } of rows)
    databases.hosts.register(hostFromUrl(id, name, secrets.open(sealed_url)))
}

const loaded = new WeakMap<Hosts, ReadonlySet<number>>()
