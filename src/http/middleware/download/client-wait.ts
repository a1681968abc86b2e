import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientWait } from '../../../statements/time-limits.ts'

/**
 * Times the waits for a client. Uses the socket's own timer, which restarts with every byte received, and with every
 * part of a large write that the kernel takes. A slow client may read for minutes what the kernel already has: so it is
 * looked at twice in the time, and is idle only if as much is left for it as before.
 */
export function clientWait(response: ServerResponse, idleMs: number): ClientWait {
  let onIdle: ((idleMs: number) => void) | null = null
  let before: Traffic = {}
  let stillLooks = 0
  const arm = () => response.socket?.setTimeout(idleMs / looks)
  const look = async () => {
    const now = await trafficOf(response)
    if (!onIdle) return
    const isReading = (now.unread ?? 0) < (before.unread ?? 0)
    stillLooks = isReading ? 0 : now.moved === before.moved ? stillLooks + 1 : 1
    before = now
    if (stillLooks >= looks) onIdle(idleMs)
    else arm()
  }
  // Also keeps Node from closing the socket by itself.
  response.on('timeout', () => {
    if (onIdle) void look()
  })
  return {
    begin: (onTooLong) => {
      onIdle = onTooLong
      before = {}
      stillLooks = 0
      arm()
    },
    end: () => {
      onIdle = null
      response.socket?.setTimeout(0)
    },
  }
}

const looks = 2

/** Bytes that the client has not read yet, and bytes that it has sent or been given so far. */
type Traffic = Readonly<{ unread?: number | undefined; moved?: number }>

async function trafficOf({ socket }: ServerResponse): Promise<Traffic> {
  if (!socket) return {}
  const unread = await unreadBytes(socket)
  return { unread, moved: socket.bytesRead + socket.bytesWritten }
}

/**
 * How many of the bytes that were sent the other side of a connection has not read. The kernel takes megabytes before it tells
 * that a client is slow, and tells nothing while the client reads them. Undefined where it does not say: on other systems
 * than Linux, over a Unix socket, and if two clients have the same port.
 */
async function unreadBytes(socket: Socket): Promise<number | undefined> {
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
