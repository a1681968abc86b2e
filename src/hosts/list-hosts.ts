import { errors } from '../errors.ts'
import { knownAddress } from '../postgres/hosts.ts'
import { countDatabases } from './host-store.ts'
import type { Installation } from './installation.ts'

export type ListedHost = Readonly<{
  name: string
  databases: number
  address: string
  accepts_users: boolean
  control_only: boolean
}>

/** The same of one host. */
export async function readHost(installation: Installation, name: string): Promise<ListedHost> {
  const host = (await listHosts(installation)).find((each) => each.name === name)
  if (!host) throw errors.hostInvalid(`There is no host '${name}'`)
  return host
}

/** What an operator sees of every host. Queries only the control database. */
export async function listHosts({ databases }: Installation): Promise<readonly ListedHost[]> {
  const known = await countDatabases(databases.control)
  return known.map(({ id, acceptsUsers, ...host }) => ({
    ...host,
    address: knownAddress(databases.hosts, id),
    accepts_users: acceptsUsers,
    control_only: databases.hosts.isControlOnly(id),
  }))
}
