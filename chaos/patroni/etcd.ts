import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'
import { Daemon } from './daemon.ts'
import { ownFolder } from './own-folder.ts'
import type { Programs } from './programs.ts'
import { readSettings } from './published-files.ts'

/** A single etcd: its outage is a separate fault. */
export async function startEtcd(
  parent: string,
  { etcd: program, env }: Programs,
  identity: Identity | undefined,
  port: number,
  peerPort: number,
): Promise<Daemon> {
  const folder = join(parent, 'etcd')
  await mkdir(folder)
  await ownFolder(folder, identity)
  const client = `http://127.0.0.1:${port}`
  const peer = `http://127.0.0.1:${peerPort}`
  const config = {
    ...(await readSettings<object>('etcd.yaml')),
    'data-dir': join(folder, 'data'),
    name: 'etcd',
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `etcd=${peer}`,
  }
  const path = join(folder, 'etcd.json')
  await writeFile(path, JSON.stringify(config))
  const args = ['--config-file', path]
  return Daemon.start({ name: 'etcd', program, args, folder, env, identity })
}
