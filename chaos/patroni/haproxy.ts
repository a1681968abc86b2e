import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'
import { Daemon } from './daemon.ts'
import type { PatroniNode } from './node.ts'
import { ownFolder } from './own-folder.ts'
import type { Programs } from './programs.ts'
import { readPublished } from './published-files.ts'

/** Leads its port to the node that reports to be the primary. */
export async function startHaproxy(
  parent: string,
  { haproxy: program, env }: Programs,
  identity: Identity | undefined,
  port: number,
  nodes: readonly PatroniNode[],
): Promise<Daemon> {
  const folder = join(parent, 'haproxy')
  await mkdir(folder)
  await ownFolder(folder, identity)
  const path = join(folder, 'haproxy.cfg')
  await writeFile(path, await configOf(port, nodes))
  return Daemon.start({ name: 'haproxy', program, args: ['-db', '-f', path], folder, env, identity })
}

/** deploy/patroni/haproxy.cfg with the port and the nodes of the cluster. */
async function configOf(port: number, nodes: readonly PatroniNode[]): Promise<string> {
  const lines = (await readPublished('haproxy.cfg')).split('\n')
  const [example] = lines.filter(isServer)
  const serverLine = ({ name, proxies }: PatroniNode) =>
    example!
      .replace('server a a.example:5432', `server ${name} 127.0.0.1:${proxies.front.port}`)
      .replace('check port 8008', `check port ${proxies.rest.port}`)
  return [
    ...lines
      .filter((line) => !isServer(line))
      .map((line) => line.replace('0.0.0.0:5000', `127.0.0.1:${port}`)),
    ...nodes.map(serverLine),
    '',
  ].join('\n')
}

const isServer = (line: string) => /^ +server /.test(line)
