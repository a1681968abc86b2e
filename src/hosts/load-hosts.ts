import { type Hosts, hostFromUrl, placeOf } from '../postgres/hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import { readSealedHosts } from './host-store.ts'
import type { Installation } from './installation.ts'
import { readFences, readSealedReplicas } from './replicas/replica-store.ts'
import { checkSecret } from './secret/check-secret.ts'

/**
 * Registers the hosts of the control database in this process. Host 1 comes from the configuration. Refuses a process
 * with a wrong or outdated secret.
 */
export async function loadHosts(
  { databases, secrets }: Installation,
  control: Queryable = databases.control,
): Promise<void> {
  await checkSecret(control, secrets)
  const known = await readSealedHosts(control)
  const ids = new Set(known.map(({ id }) => id))
  // A host that is just being added is not in the table yet: only hosts seen there before can have been removed.
  for (const id of loaded.get(databases.hosts) ?? []) if (!ids.has(id)) databases.hosts.forget(id)
  loaded.set(databases.hosts, ids)
  for (const { id, name, sealedUrl } of known)
    databases.hosts.register(hostFromUrl(id, name, secrets.open(sealedUrl)))
  await loadReplicas(databases.hosts, secrets, control)
}

async function loadReplicas(hosts: Hosts, secrets: Secrets, control: Queryable): Promise<void> {
  const replicas = await readSealedReplicas(control)
  const fences = replicas.length === 0 ? [] : await readFences(control)
  hosts.setReplicas(
    replicas.map(({ id, hostId, name, sealedUrl }) => ({
      ...hostFromUrl(id, name, secrets.open(sealedUrl)),
      replicaOf: hostId,
    })),
    new Map(fences.map((fence) => [placeOf(fence), BigInt(fence.position)])),
  )
}

const loaded = new WeakMap<Hosts, ReadonlySet<number>>()
