import type { Socket } from 'node:net'
import type { ClientBase } from 'pg'

/**
 * Drops a connection that owes an answer and has said nothing for so long; whoever waits on it hears of a lost
 * connection. TCP finds nothing wrong with a server that is stopped, or with a proxy that has forgotten us.
 *
 * The timer of a socket tells only that it is time to look: it also ends for a question that was asked a moment before, if
 * another timer was due in the same turn. So it ends early, and whoever owes an answer then has nearly all the time anew.
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
    // It may be us who were stopped: then the answer lies in the socket, and is read first.
    setTimeout(() => setImmediate(dropIfSilent), limit - firstLookMs(limit)).unref()
  })
}

/** Another limit, from the next silence on. */
export function limitSilence(client: ClientBase, limitMs: number): void {
  const socket = socketOf(client)
  if (limits.get(socket) === limitMs) return
  limits.set(socket, limitMs)
  socket.setTimeout(firstLookMs(limitMs))
}

const limits = new WeakMap<Socket, number>()

const firstLookMs = (limitMs: number) => limitMs / 12

/** Bytes that have gone either way. */
export const traffic = ({ bytesRead, bytesWritten }: Socket) => bytesRead + bytesWritten

/** Where `pg` reads and writes. */
export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}

function silentConnection(): Error {
  return Object.assign(new Error('The database did not answer in time'), { code: 'ETIMEDOUT' })
}

/** After so long without a word TCP asks the other side whether it is still there, and gives up some seconds later. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const

/** The same on the server's side, as start-up settings. `unreadMs`: for so long a client may leave unread what it gets. */
export function serverKeepAlive(unreadMs: number) {
  return {
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 5,
    tcp_user_timeout: Math.min(unreadMs, longestMs),
  } as const
}

const longestMs = 2 ** 31 - 1
