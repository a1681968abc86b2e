import type { Socket } from 'node:net'
import type { ClientBase } from 'pg'

/**
 * Drops a connection that owes an answer and has said nothing for so long; whoever waits on it hears of a lost
 * connection. TCP finds nothing wrong with a server that is stopped, or with a proxy that has forgotten us.
 */
export function dropWhenSilent(client: ClientBase, limitMs: number, owesAnswer: () => boolean): void {
  const socket = socketOf(client)
  socket.setTimeout(limitMs, () => {
    // Nobody has asked for so long. A question of this very moment has all its time before it.
    if (!owesAnswer()) return
    const heard = socket.bytesRead
    // It may be us who were stopped: then the answer lies in the socket, and is read first.
    setImmediate(() => {
      if (owesAnswer() && socket.bytesRead === heard) socket.destroy(silentConnection())
    })
  })
}

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
