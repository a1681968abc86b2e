import { type Hosts, hostFromUrl } from '../postgres/hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { readSealedHosts } from './host-store.ts'
import type { Installation } from './installation.ts'
import { checkSecret } from './secret/check-secret.ts'

/**
 * Makes the hosts of the control database known to this process. Host 1 is known from the configuration. A process
 * whose secret is not, or no longer, the installation's is turned away here.
 */
export async function loadHosts(
  { databases, secrets }: Installation,
  control: Queryable = databases.control,
): Promise<void> {
  await checkSecret(control, secrets)
  const known = await readSealedHosts(control)
  const ids = new Set(known.map(({ id }) => id))
  // One that is just being added is not in the table yet: only what was there can have been removed.
  for (const id of loaded.get(databases.hosts) ?? []) if (!ids.has(id)) databases.hosts.forget(id)
  loaded.set(databases.hosts, ids)
  for (const { id, name, sealedUrl } of known)
    databases.hosts.register(hostFromUrl(id, name, secrets.open(sealedUrl)))
}

const loaded = new WeakMap<Hosts, ReadonlySet<number>>()
