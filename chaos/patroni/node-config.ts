import { join } from 'node:path'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'
import type { TcpProxy } from '../proxy/tcp-proxy.ts'
import type { Programs } from './programs.ts'
import { readSettings } from './published-files.ts'

/** What all nodes share. */
export type NodeCommon = Readonly<{
  folder: string
  programs: Programs
  identity: Identity | undefined
  binDir: string
  etcdPort: number
  password: string
}>

/** `etcd`: from the node; the others: to it. `peers` is for the other nodes, `front` for HAProxy, `rest` for both. */
export type NodeProxies = Readonly<Record<'etcd' | 'peers' | 'front' | 'rest', TcpProxy>>

type NodePlace = Readonly<{
  name: string
  folder: string
  dataPath: string
  postgresPort: number
  restPort: number
  proxies: NodeProxies
}>

/** deploy/patroni/patroni.yaml with the addresses of one node. Others reach the node only through its proxies. */
export async function nodeConfig({ binDir, password }: NodeCommon, place: NodePlace) {
  const published = await readSettings<PublishedNode>('patroni.yaml')
  const { name, folder, dataPath, postgresPort, restPort, proxies } = place
  const at = (port: number) => `127.0.0.1:${port}`
  return {
    ...published,
    name,
    restapi: { listen: at(restPort), connect_address: at(proxies.rest.port) },
    // Without `use_proxies` Patroni would ask etcd for its own address and use that.
    etcd: { hosts: [at(proxies.etcd.port)], use_proxies: true },
    bootstrap: {
      ...published.bootstrap,
      pg_hba: published.bootstrap.pg_hba.map((line) => line.replace('10.0.0.0/24', '127.0.0.1/32')),
    },
    postgresql: {
      ...published.postgresql,
      listen: at(postgresPort),
      connect_address: at(proxies.peers.port),
      data_dir: dataPath,
      bin_dir: binDir,
      pgpass: join(folder, 'pgpass'),
      authentication: mapValues(published.postgresql.authentication, (login) => ({ ...login, password })),
      // Its shared memory is in its folder, where none of it outlives a killed server.
      parameters: { unix_socket_directories: folder, dynamic_shared_memory_type: 'mmap' },
      basebackup: ['no-sync', ...published.postgresql.basebackup],
    },
  }
}

type PublishedNode = Readonly<{
  bootstrap: Readonly<{ pg_hba: readonly string[] }>
  postgresql: Readonly<{
    authentication: Readonly<Record<string, Readonly<{ username: string; password: string }>>>
    basebackup: readonly unknown[]
  }>
}>

const mapValues = <From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
