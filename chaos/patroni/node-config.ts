import { join } from 'node:path'
import type { NodeCommon, NodeProxies } from './node.ts'

type NodePlace = Readonly<{
  name: string
  folder: string
  dataPath: string
  postgresPort: number
  restPort: number
  proxies: NodeProxies
}>

/** Patroni's configuration of one node: YAML takes JSON. Others reach the node by its proxies alone. */
export function nodeConfig({ binDir, password }: NodeCommon, place: NodePlace) {
  const { name, folder, dataPath, postgresPort, restPort, proxies } = place
  const at = (port: number) => `127.0.0.1:${port}`
  return {
    scope: 'chaos',
    name,
    restapi: { listen: at(restPort), connect_address: at(proxies.rest.port) },
    // By etcd's older API: by the newer one (`etcd3`) Patroni 3.0 lets a primary that comes back after its lease has expired
    // overwrite the lock of the new one, whose commits are then lost. Without proxies Patroni would ask etcd for its own
    // address and go there.
    etcd: { hosts: [at(proxies.etcd.port)], use_proxies: true },
    bootstrap: bootstrapOf(),
    postgresql: {
      listen: at(postgresPort),
      connect_address: at(proxies.peers.port),
      data_dir: dataPath,
      bin_dir: binDir,
      pgpass: join(folder, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password },
        replication: { username: 'replicator', password },
        rewind: { username: 'rewinder', password },
      },
      parameters: { unix_socket_directories: folder },
      basebackup: ['no-sync', { checkpoint: 'fast' }],
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
  }
}

/** In force for the whole cluster: kept in etcd. */
function bootstrapOf() {
  return {
    dcs: {
      ...timing,
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, use_slots: true, parameters },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    pg_hba: ['host replication all 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256'],
  }
}

/** The shortest `ttl` that Patroni advises, and what fits into it. */
const timing = { ttl: 20, loop_wait: 5, retry_timeout: 5 } as const

const parameters = {
  max_connections: 200,
  superuser_reserved_connections: 10,
  max_locks_per_transaction: 256,
  shared_buffers: '128MB',
  password_encryption: 'scram-sha-256',
  jit: 'off',
  client_connection_check_interval: '2s',
  wal_receiver_timeout: '10s',
  wal_sender_timeout: '10s',
  // Its shared memory lies in its folder, where nothing of it outlives a server that is killed for good.
  dynamic_shared_memory_type: 'mmap',
} as const
