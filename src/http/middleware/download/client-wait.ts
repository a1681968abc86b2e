import type { ServerResponse } from 'node:http'
import type { ClientWait } from '../../../statements/time-limits.ts'
import { unreadBytes } from './unread-bytes.ts'

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
