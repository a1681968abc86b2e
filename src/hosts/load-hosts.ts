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
 * out until it can be read, or stays as it was read before: its users get 503 from this process, and those of other hosts
 * notice nothing.
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
  forgetAddresses(loads, new Set([...ids, ...replicas.map(({ id }) => id)]))
  const read = (stored: SealedHost) => readHost(loads, hosts, stored, secrets, log)
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

/** Tries again to read the addresses of hosts and replicas that could not be read: no change in a table tells of a file. */
export async function loadUnread(installation: Installation): Promise<void> {
  if (loadsOf(installation.databases.hosts).unread.size > 0) await loadHosts(installation)
}

/** Of the last load: the hosts that this process does not know, as it could not read their addresses. */
export const unknownHosts = (hosts: Hosts): readonly number[] =>
  [...loadsOf(hosts).ids].filter((id) => !hosts.has(id))

type Loads = {
  begun: number
  done: number
  ids: ReadonlySet<number>
  /** The sealed address of each host and replica as it was last read. */
  readonly addresses: Map<number, Buffer>
  /** Why the address of a host was not read, so that it is logged once. */
  readonly unread: Map<number, string>
}

const loadsOf = remembered(
  (_hosts: Hosts): Loads => ({ begun: 0, done: 0, ids: new Set(), addresses: new Map(), unread: new Map() }),
)

/** All but those of these hosts and replicas. */
function forgetAddresses({ addresses, unread }: Loads, ids: ReadonlySet<number>): void {
  for (const each of [addresses, unread]) for (const id of each.keys()) if (!ids.has(id)) each.delete(id)
}

/**
 * Undefined: the address cannot be read here. The log has the name, and nothing of the address but the file it names. A
 * host is used on if the stored address is the one that was read before, as its file may be missing for a moment only.
 */
function readHost(
  { addresses, unread }: Loads,
  hosts: Hosts,
  { id, name, sealedUrl }: SealedHost,
  secrets: Secrets,
  log: Log,
): Host | undefined {
  // Throws if the secret was changed a moment ago.
  const url = secrets.open(sealedUrl)
  try {
    const host = hostFromUrl(id, name, url)
    addresses.set(id, sealedUrl)
    if (unread.delete(id)) log.info({ host: name }, 'the address of a host can be read again')
    return host
  } catch (error) {
    const { message: reason } = error as Error
    const isKnown = hosts.has(id) && addresses.get(id)?.equals(sealedUrl) === true
    if (unread.get(id) !== reason) log.error({ host: name, reason }, isKnown ? usedOn : notRead)
    unread.set(id, reason)
    return isKnown ? hosts.get(id) : undefined
  }
}

const notRead = 'cannot read the address of a host'
const usedOn = 'cannot read the address of a host again: it is used as it was read before'
