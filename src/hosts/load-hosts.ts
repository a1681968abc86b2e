import { type Hosts, hostFromUrl, placeOf } from '../postgres/hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { remembered } from '../remembered.ts'
import { readSealedHosts } from './host-store.ts'
import type { Installation } from './installation.ts'
import { readFences, readSealedReplicas } from './replicas/replica-store.ts'
import { checkSecret } from './secret/check-secret.ts'

/**
 * Registers the hosts of the control database in this process. Host 1 comes from the configuration. Refuses a process
 * with a wrong or outdated secret.
 */
export async function loadHosts(
  { databases: { hosts, control: pool }, secrets }: Installation,
  control: Queryable = pool,
): Promise<void> {
  await checkSecret(control, secrets)
  const loads = loadsOf(hosts)
  loads.begun += 1
  const number = loads.begun
  const known = await readSealedHosts(control)
  const replicas = await readSealedReplicas(control)
  const fences = replicas.length === 0 ? [] : await readFences(control)
  // A load that began later has already stored this state, or a newer one.
  if (number < loads.done) return
  loads.done = number
  const ids = new Set(known.map(({ id }) => id))
  // The cluster of a backup is in no table: only hosts seen there before can have been removed.
  for (const id of loads.ids) if (!ids.has(id)) hosts.forget(id)
  loads.ids = ids
  for (const { id, name, sealedUrl } of known) hosts.register(hostFromUrl(id, name, secrets.open(sealedUrl)))
  hosts.setReplicas(
    replicas.map(({ id, hostId, name, sealedUrl }) => ({
      ...hostFromUrl(id, name, secrets.open(sealedUrl)),
      replicaOf: hostId,
    })),
    new Map(fences.map((fence) => [placeOf(fence), BigInt(fence.position)])),
  )
}

const loadsOf = remembered((_hosts: Hosts) => ({ begun: 0, done: 0, ids: new Set<number>() }))
