import { operator, recordAudit } from '../../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import type { ReplicaDocument } from '../../contract/documents.ts'
import { errors } from '../../errors.ts'
import { checkAddress } from '../../postgres/check-address.ts'
import { addressOf, adminLogin, type Host, hostFromUrl } from '../../postgres/hosts.ts'
import { askServer, placeSql } from '../../postgres/replicas/ask-server.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { ScramClient } from '../../postgres/wire/scram-client.ts'
import { isPromoted } from '../../postgres/wire/standby.ts'
import { findHost } from '../host-store.ts'
import type { Installation } from '../installation.ts'
import { insertReplica } from './replica-store.ts'

export type NewReplica = Readonly<{ name: string; host: string; url: string }>

/** Registers a standby of a host for reads. When this returns, every process knows it, and uses it as soon as it has caught up. */
export async function addReplica(
  installation: Installation,
  { name, host: hostName, url }: NewReplica,
): Promise<ReplicaDocument> {
  const { databases, secrets, log } = installation
  const { control } = databases
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
    throw errors.hostInvalid('The name of a replica must be 1 to 63 lower-case letters, digits or hyphens')
  checkAddress(url)
  const host = await findHost(control, hostName)
  if (!host) throw errors.notFound(`Host '${hostName.slice(0, 100)}'`)
  const replica = replicaFromUrl(name, url)
  await checkReplica(installation, host.id, hostName, replica)
  await inTransaction(control, async (tx) => {
    if (!(await insertReplica(tx, { hostId: host.id, name, sealedUrl: secrets.seal(url) })))
      throw errors.hostInvalid(`There is a replica or a host '${name}' already`)
    const details = { host: hostName, address: addressOf(replica) }
    await recordAudit(tx, { actor: operator, action: 'replica.added', subject: name, details })
    await announceChange(tx)
  })
  await awaitCaches(control, log)
  return { name, host: hostName, address: addressOf(replica) }
}

function replicaFromUrl(name: string, url: string): Host {
  let replica: Host
  try {
    replica = hostFromUrl(0, name, url)
  } catch {
    throw errors.hostInvalid('The address cannot be read')
  }
  if (replica.addresses.length > 1)
    throw errors.hostInvalid(
      'The address of a replica must name one server: add each server under its own name',
    )
  return replica
}

/** Checks that it is a standby of this host, and that we are superuser there: statements are stopped as one. */
async function checkReplica(
  { databases: { admin, hosts } }: Installation,
  hostId: number,
  hostName: string,
  replica: Host,
): Promise<void> {
  const found = await describe(replica).catch((error: unknown) => {
    const address = addressOf(replica)
    if (isPromoted(error)) throw errors.hostInvalid(`${address} is not a standby: it takes writes`)
    const { message } = error as Error
    throw errors.hostInvalid(`${address} cannot be used: ${message}`)
  })
  const { identifier } = await askServer(admin, hosts)(hostId, 'primary')
  if (found.identifier !== identifier)
    throw errors.hostInvalid(`${addressOf(replica)} is not a standby of the host '${hostName}'`)
  if (!found.isSuperuser) throw errors.hostInvalid(`${replica.adminRole} is not a superuser there`)
}

type FoundReplica = Readonly<{ identifier: string; isSuperuser: boolean }>

/** On a connection of its own: no process may use it before it is known to be a standby. */
async function describe(replica: Host): Promise<FoundReplica> {
  const [address] = replica.addresses
  const client = new ScramClient(
    { ...address, ...adminLogin(replica), connectionTimeoutMillis: answerMs, query_timeout: answerMs },
    'standby',
  )
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<FoundReplica>(
      `select place.*, (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as "isSuperuser"
       from (${placeSql.standby}) place`,
    )
    return rows[0]!
  } finally {
    void client.end().catch(() => undefined)
  }
}

const answerMs = 5_000
