import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { killAll } from '../postgres/stop-processes.ts'
import { TcpProxy } from '../proxy/tcp-proxy.ts'
import { Daemon } from './daemon.ts'
import { type NodeCommon, type NodeProxies, nodeConfig } from './node-config.ts'
import { ownFolder } from './own-folder.ts'

/** One machine of the cluster: Patroni, its PostgreSQL, and the proxies to it. */
export type PatroniNode = Readonly<{
  name: string
  patroni: Daemon
  dataPath: string
  /** Patroni's REST API, directly. */
  restPort: number
  proxies: NodeProxies
  readPostmasterPid: () => Promise<number>
  remove: () => Promise<void>
}>

export async function startNode(
  common: NodeCommon,
  name: string,
  postgresPort: number,
  restPort: number,
): Promise<PatroniNode> {
  const folder = join(common.folder, name)
  const dataPath = join(folder, 'data')
  await mkdir(folder)
  await ownFolder(folder, common.identity)
  const proxies = await openProxies(common.etcdPort, postgresPort, restPort)
  const configPath = join(folder, 'patroni.json')
  const config = await nodeConfig(common, { name, folder, dataPath, postgresPort, restPort, proxies })
  await writeFile(configPath, JSON.stringify(config, null, 2))
  const { env, patroni: program } = common.programs
  // Debian's own Python, for which the packages are made.
  const args = [program, configPath]
  const { identity } = common
  const patroni = await Daemon.start({ name, program: '/usr/bin/python3', args, folder, env, identity })
  const remove = async () => {
    await patroni.remove()
    await killAll(dataPath)
    for (const proxy of Object.values(proxies)) proxy.close()
  }
  const readPostmasterPid = async () =>
    Number.parseInt(await readFile(join(dataPath, 'postmaster.pid'), 'utf8'), 10)
  return { name, patroni, dataPath, restPort, proxies, readPostmasterPid, remove }
}

async function openProxies(etcdPort: number, postgresPort: number, restPort: number): Promise<NodeProxies> {
  return {
    etcd: await TcpProxy.open(etcdPort),
    peers: await TcpProxy.open(postgresPort),
    front: await TcpProxy.open(postgresPort),
    rest: await TcpProxy.open(restPort),
  }
}
