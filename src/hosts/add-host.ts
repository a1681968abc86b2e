import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { AppError, errors } from '../errors.ts'
import { checkAddress } from '../postgres/check-address.ts'
import { addressOf, type Host, hostFromUrl } from '../postgres/hosts.ts'
import { onConnection } from '../postgres/transaction.ts'
import { checkCluster } from './check-cluster.ts'
import { changeUrl, findHost, insertHost, type KnownHost, nextHostId } from './host-store.ts'
import type { Installation } from './installation.ts'
import { loadHosts } from './load-hosts.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { prepareHost } from './prepare-hosts.ts'

/**
 * Registers a PostgreSQL cluster for tenants, or gives a known one a new address, after preparing it. When this
 * returns, every process knows it and new accounts may be placed there.
 */
export const addHost = (installation: Installation, name: string, url: string): Promise<Host> =>
  registerHost(installation, name, url, () => undefined)

/** The same, but refuses a name that is known. */
export const addNewHost = (installation: Installation, name: string, url: string): Promise<Host> =>
  registerHost(installation, name, url, (known) => {
    if (known) throw errors.hostInvalid(`There is a host '${name}' already: change its address instead`)
  })

/** The same, but refuses a name that is not known. */
export const changeAddress = (installation: Installation, name: string, url: string): Promise<Host> =>
  registerHost(installation, name, url, (known) => {
    if (!known) throw errors.hostInvalid(`There is no host '${name}'`)
  })

async function registerHost(
  installation: Installation,
  name: string,
  url: string,
  check: (known: KnownHost | undefined) => void,
): Promise<Host> {
  const { databases, secrets, log } = installation
  checkWords(name, url)
  return oneAtATime(installation, async (locked) => {
    const { control } = databases
    // What another process has added just now.
    await loadHosts(installation)
    const known = await findHost(control, name)
    check(known)
    const host = readAddress(known?.id ?? (await nextHostId(control)), name, url)
    await prepareApart(installation, host, known?.databases)
    await keepHost(locked, host, secrets.seal(url), known ? 'host.changed' : 'host.added')
    await tellAll(installation).catch((error: unknown) => {
      // Work may still begin at the old address of a known one. Without users, a new one is only unknown for a while.
      if (known) throw error
      log.error({ host: name, err: error }, 'a host is added, but some processes may not know it yet')
    })
    return host
  })
}

async function tellAll(installation: Installation): Promise<void> {
  await loadHosts(installation)
  await awaitCaches(installation.databases.control, installation.log)
}

function checkWords(name: string, url: string): void {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    throw errors.hostInvalid('The name of a host must be 1 to 63 lower-case letters, digits or hyphens')
  }
  if (name === 'local') throw errors.hostInvalid("The host 'local' comes from the configuration")
  checkAddress(url)
}

/**
 * Checks and prepares the host with connections that nothing else uses: no request may come there, and no user be
 * placed there, before it is known to be what it should be.
 */
async function prepareApart(
  installation: Installation,
  host: Host,
  expected: readonly string[] | undefined,
): Promise<void> {
  const databases = installation.databases.withHost(host)
  try {
    await checkCluster(databases, host, expected)
    await prepareHost({ ...installation, databases }, host.id)
  } finally {
    await databases.close()
  }
}

async function keepHost(
  locked: ClientBase,
  host: Host,
  sealedUrl: Buffer,
  action: 'host.added' | 'host.changed',
): Promise<void> {
  const { id, name } = host
  await onConnection(locked, async (tx) => {
    if (action === 'host.added' && !(await insertHost(tx, { id, name, sealedUrl })))
      throw errors.hostInvalid(`There is a replica '${name}' already`)
    if (action === 'host.changed' && !(await changeUrl(tx, id, sealedUrl)))
      throw errors.hostInvalid(`There is no host '${name}'`)
    await recordAudit(tx, { actor: operator, action, subject: name, details: { address: addressOf(host) } })
    await announceChange(tx)
  })
}

/** An error of the parser may have the whole address in it, with the password. */
function readAddress(id: number, name: string, url: string): Host {
  let host: Host
  try {
    host = hostFromUrl(id, name, url)
  } catch (error) {
    if (error instanceof AppError) throw error
    throw errors.hostInvalid('The address cannot be read')
  }
  // All are asked at once.
  if (host.addresses.length > mostServers)
    throw errors.hostInvalid(`The address must name at most ${mostServers} servers`)
  return host
}

const mostServers = 16
