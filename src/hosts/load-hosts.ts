import type { Log } from '../log/log.ts'
import { type Host, type Hosts, hostFromUrl, placeOf } from '../postgres/hosts.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { remembered } from '../remembered.ts'
import type { Secrets } from '../secrets.ts'
import { readSealedHosts, type SealedHost } from './host-store.ts'
import type { Installation } from './installation.ts'
import { readFences, readSealedReplicas } from './replicas/replica-store.ts'
import { checkSecret } from './secret/check-secret.ts'

/**
 * Registers the hosts of the control database in this process. Host 1 comes from the configuration. Refuses a process
 * with a wrong or outdated secret. A host whose address cannot be read here, as a file that it names is missing, is left
 * out: its users get 503 from this process, and those of other hosts notice nothing.
 */
export async function loadHosts(
  { databases: { hosts, control: pool }, secrets, log }: Installation,
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
  const read = (stored: SealedHost) => readHost(loads.unread, stored, secrets, log)
  for (const stored of known) {
    const host = read(stored)
    if (host) hosts.register(host)
    // It may have been moved from the address that this process knows.
    else hosts.forget(stored.id)
  }
  hosts.setReplicas(
    replicas.flatMap(({ hostId, ...stored }) => {
      const replica = read(stored)
      return replica ? [{ ...replica, replicaOf: hostId }] : []
    }),
    new Map(fences.map((fence) => [placeOf(fence), BigInt(fence.position)])),
  )
}

const loadsOf = remembered((_hosts: Hosts) => ({
  begun: 0,
  done: 0,
  ids: new Set<number>(),
  /** Why the address of a host was not read, so that it is logged once. */
  unread: new Map<number, string>(),
}))

/** Undefined: the address cannot be read here. The log has the name, and nothing of the address but the file it names. */
function readHost(
  unread: Map<number, string>,
  { id, name, sealedUrl }: SealedHost,
  secrets: Secrets,
  log: Log,
): Host | undefined {
  // Throws if the secret was changed a moment ago.
  const url = secrets.open(sealedUrl)
  try {
    const host = hostFromUrl(id, name, url)
    unread.delete(id)
    return host
  } catch (error) {
    const { message: reason } = error as Error
    if (unread.get(id) !== reason) log.error({ host: name, reason }, 'cannot read the address of a host')
    unread.set(id, reason)
    return undefined
  }
}
