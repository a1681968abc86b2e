import { connect } from 'node:net'
import { finished } from 'node:stream/promises'
import type { Client } from 'pg'
import { socketPath } from '../cluster/socket-directory.ts'

const cancelRequestCode = 80877102
const connectTimeoutMs = 5_000

/** Asks the server to cancel the statement of `client`. The server sends no answer: the statement's own end tells. */
export async function cancelStatement(client: Client): Promise<void> {
  const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
  const request = Buffer.alloc(16)
  request.writeInt32BE(16, 0)
  request.writeInt32BE(cancelRequestCode, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const { host, port } = client
  const socket = host.startsWith('/') ? connect(socketPath(host, port)) : connect(port, host)
  socket.setTimeout(connectTimeoutMs, () => socket.destroy())
  socket.on('connect', () => socket.end(request)).resume()
  await finished(socket).catch(() => undefined)
}
