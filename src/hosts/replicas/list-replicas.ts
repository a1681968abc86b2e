import type { ReplicaDocument } from '../../contract/documents.ts'
import { errors } from '../../errors.ts'
import { knownAddress } from '../../postgres/hosts.ts'
import { countDatabases } from '../host-store.ts'
import type { Installation } from '../installation.ts'
import { readSealedReplicas } from './replica-store.ts'

/** The replicas of one host, or of all. Queries only the control database. */
export async function listReplicas(
  { databases: { control, hosts: registered } }: Installation,
  host?: string,
): Promise<readonly ReplicaDocument[]> {
  const hosts = await countDatabases(control)
  if (host !== undefined && !hosts.some(({ name }) => name === host))
    throw errors.notFound(`Host '${host.slice(0, 100)}'`)
  const replicas = await readSealedReplicas(control)
  return replicas
    .map(({ hostId, name, id }) => ({
      name,
      host: hosts.find((each) => each.id === hostId)?.name ?? '',
      address: knownAddress(registered, id),
    }))
    .filter((replica) => host === undefined || replica.host === host)
}
