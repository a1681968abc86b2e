import type { Readiness } from '../../contract/documents.ts'
import { CartageError } from '../cartage-error.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export function healthOf(connection: Connection) {
  return {
    /** Whether the process is there. */
    live: () => sendForJson<Readonly<{ status: 'ok' }>>(connection, 'isAlive'),
    /** Whether it can serve; that it cannot is an answer as well. */
    ready: () =>
      sendForJson<Readiness>(connection, 'isReady').catch((error: unknown) => {
        if (error instanceof CartageError && 'control' in error.body) return error.body as Readiness
        throw error
      }),
    /** In the text format of Prometheus. */
    metrics: () => sendForText(connection, 'readMetrics', { headers: { accept: '*/*' } }),
  }
}
