import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** One connection of a process to PostgreSQL, as the network between them sees it. */
export type Flow = {
  /** As in pg_stat_activity. */
  readonly clientPort: () => number
  /** Everything that the process has sent, as text. */
  readonly sent: () => string
  readonly isOpen: () => boolean
  /** The network forgets the connection: the server sees it closed, the process never notices. */
  readonly halfOpen: () => void
  /** The process sees the connection closed. What it is sending reaches the server later, and nothing after it. */
  readonly deliverLate: (delayMs: number) => void
  /** Closes both sides, like a proxy after its idle time. The server notices when it next checks the client. */
  readonly cut: () => void
  /** Holds what the server sends until `release` sends it in one piece. */
  readonly holdAnswers: () => void
  readonly heldBytes: () => number
  /** The server has closed the connection. The process sees that at the next `release`, if answers are held. */
  readonly isClosedByServer: () => boolean
  readonly release: () => void
}

export type TcpProxy = Readonly<{
  /** The given address, through the proxy. */
  url: string
  flows: () => readonly Flow[]
  /** New connections lead to another server from now on. Open ones are cut unless they are to be kept. */
  leadTo: (upstreamUrl: string, options?: Readonly<{ keepsOpen?: boolean }>) => void
  /** Called with every message of a process before it is passed on. */
  watch: (onSent: (flow: Flow, text: string) => void) => void
}>

/** Starts a proxy between a process and PostgreSQL. */
export async function startProxy(t: TestContext, upstreamUrl: string): Promise<TcpProxy> {
  let upstream = new URL(upstreamUrl)
  const flows: Flow[] = []
  const sockets = new Set<Socket>()
  let onSent: (flow: Flow, text: string) => void = () => undefined
  const server = createServer((client) => {
    const host = connect(Number(upstream.port), upstream.hostname)
    for (const socket of [client, host]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    flows.push(joinSockets(client, host, (flow, text) => onSent(flow, text)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(upstreamUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    flows: () => flows,
    leadTo: (otherUrl, { keepsOpen = false } = {}) => {
      upstream = new URL(otherUrl)
      if (!keepsOpen) for (const socket of sockets) socket.destroy()
    },
    watch: (listener) => {
      onSent = listener
    },
  }
}

function joinSockets(client: Socket, host: Socket, onSent: (flow: Flow, text: string) => void): Flow {
  let sent = ''
  let isCut = false
  let held: Buffer[] | undefined
  let isClosedByServer = false
  let lateMs: number | undefined
  const flow: Flow = {
    clientPort: () => host.localPort!,
    sent: () => sent,
    isOpen: () => !client.destroyed && !isCut,
    halfOpen: () => {
      isCut = true
      host.destroy()
    },
    deliverLate: (delayMs) => {
      isCut = true
      lateMs = delayMs
    },
    cut: () => {
      client.destroy()
      host.destroy()
    },
    holdAnswers: () => {
      held ??= []
    },
    heldBytes: () => (held ?? []).reduce((sum, chunk) => sum + chunk.length, 0),
    isClosedByServer: () => isClosedByServer,
    release: () => {
      if (held) client.write(Buffer.concat(held))
      held = undefined
      if (isClosedByServer) client.end()
    },
  }
  client.on('data', (chunk) => {
    const text = chunk.toString('latin1')
    sent += text
    onSent(flow, text)
    if (!isCut) host.write(chunk)
    if (lateMs === undefined) return
    setTimeout(() => host.end(chunk), lateMs)
    client.destroy()
  })
  host.on('data', (chunk) => {
    if (held) held.push(chunk)
    else if (!isCut) client.write(chunk)
  })
  client.on('close', () => {
    if (lateMs === undefined) host.destroy()
  })
  host.on('close', () => {
    isClosedByServer = true
    if (!isCut && !held) client.end()
  })
  return flow
}
