import type { ServerResponse } from 'node:http'
import type { ClientWait } from '../../copy/upload.ts'

/**
 * Times the waits for a client. Uses the socket's own timer, which restarts with every byte received, and with every
 * part of a large write that the client takes.
 */
export function clientWait(response: ServerResponse, idleMs: number): ClientWait {
  let onIdle: ((idleMs: number) => void) | null = null
  // Also keeps Node from closing the socket by itself.
  response.on('timeout', () => onIdle?.(idleMs))
  return {
    begin: (onTooLong) => {
      onIdle = onTooLong
      response.socket?.setTimeout(idleMs)
    },
    end: () => {
      onIdle = null
      response.socket?.setTimeout(0)
    },
  }
}
