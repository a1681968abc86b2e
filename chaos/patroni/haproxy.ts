import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'
import { Daemon } from './daemon.ts'
import type { PatroniNode } from './node.ts'
import { ownFolder } from './own-folder.ts'
import type { Programs } from './programs.ts'

/** Leads its port to the node that calls itself the primary. */
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
  await writeFile(path, configOf(port, nodes))
  return Daemon.start({ name: 'haproxy', program, args: ['-db', '-f', path], folder, env, identity })
}

/** As Patroni's manual has it, but that the limits of silence are those of docs/scaling.md. */
function configOf(port: number, nodes: readonly PatroniNode[]): string {
  return `global
  maxconn 1000
defaults
  mode tcp
  retries 2
  timeout connect 4s
  timeout check 3s
  timeout client 13h
  timeout server 13h
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 3 rise 2 on-marked-down shutdown-sessions
${nodes.map(serverLine).join('\n')}
`
}

const serverLine = ({ name, proxies }: PatroniNode) =>
  `  server ${name} 127.0.0.1:${proxies.front.port} maxconn 300 check port ${proxies.rest.port}`
