import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/**
 * How many of the bytes that were sent the other side of a connection has not read. The kernel takes megabytes before it tells
 * that a client is slow, and tells nothing while the client reads them. Undefined where it does not say: on other systems
 * than Linux, over a Unix socket, and if two clients have the same port.
 */
export async function unreadBytes(socket: Socket): Promise<number | undefined> {
  const { localPort, remotePort } = socket
  if (localPort === undefined || remotePort === undefined) return undefined
  const line = new RegExp(
    `^ *\\d+: [\\dA-F]+:${hex(localPort)} [\\dA-F]+:${hex(remotePort)} \\w+ ([\\dA-F]+):`,
    'gm',
  )
  const tables = await Promise.all(tableFiles.map((file) => readFile(file, 'latin1').catch(() => '')))
  const found = tables.flatMap((table) => [...table.matchAll(line)])
  return found.length === 1 ? Number.parseInt(found[0]![1]!, 16) + waitingFor(socket) : undefined
}

const tableFiles = ['/proc/net/tcp', '/proc/net/tcp6']

const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')

/** Bytes of a write that the kernel has not taken yet. `writableLength` counts the whole write until its end. */
function waitingFor(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
