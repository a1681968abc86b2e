import type { Socket } from 'node:net'
import type { ClientBase } from 'pg'

/**
 * Drops a connection that owes an answer and has been silent for `limitMs`; the waiting code gets a lost connection.
 * TCP does not detect a stopped server, or a proxy that has lost the connection.
 *
 * The socket's timer only triggers the check: it also fires for a question just sent, if another timer was due in the
 * same turn. So it fires early, and an owed answer then still has nearly all the time.
 */
export function dropWhenSilent(client: ClientBase, limitMs: number, owesAnswer: () => boolean): void {
  const socket = socketOf(client)
  limitSilence(client, limitMs)
  socket.on('timeout', () => {
    if (!owesAnswer()) return
    const before = traffic(socket)
    const dropIfSilent = () => {
      if (owesAnswer() && traffic(socket) === before) socket.destroy(silentConnection())
    }
    const limit = limits.get(socket)!
    // This process itself may have been paused: read what is already in the socket first.
    setTimeout(() => setImmediate(dropIfSilent), limit - firstLookMs(limit)).unref()
  })
}

/** Sets another limit, from the next silence on. */
export function limitSilence(client: ClientBase, limitMs: number): void {
  const socket = socketOf(client)
  if (limits.get(socket) === limitMs) return
  limits.set(socket, limitMs)
  socket.setTimeout(firstLookMs(limitMs))
}

const limits = new WeakMap<Socket, number>()

const firstLookMs = (limitMs: number) => limitMs / 12

/** Bytes sent and received. */
export const traffic = ({ bytesRead, bytesWritten }: Socket) => bytesRead + bytesWritten

/** The socket of a `pg` client. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}

function silentConnection(): Error {
  return Object.assign(new Error('The database did not answer in time'), { code: 'ETIMEDOUT' })
}

/** After 5 silent seconds TCP probes the other side, and gives up some seconds later. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const

/** The same on the server's side, as start-up settings. `unreadMs`: how long a client may leave received data unread. */
export function serverKeepAlive(unreadMs: number) {
  return {
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 5,
    tcp_user_timeout: Math.min(unreadMs, longestMs),
  } as const
}

const longestMs = 2 ** 31 - 1
