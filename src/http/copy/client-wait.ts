import type { ServerResponse } from 'node:http'
import type { ClientWait } from '../../copy/upload.ts'

/**
 * Times the waits for a client. Uses the socket's own timer, which restarts with every byte received, and with every
 * part of a large write that the client takes.
 */
export function clientWait(response: ServerResponse, idleMs: number): ClientWait {
  let tell: ((idleMs: number) => void) | null = null
  // Also keeps Node from closing the socket by itself.
  response.on('timeout', () => tell?.(idleMs))
  return {
    begin: (onTooLong) => {
      tell = onTooLong
      response.socket?.setTimeout(idleMs)
    },
    end: () => {
      tell = null
      response.socket?.setTimeout(0)
    },
  }
}
