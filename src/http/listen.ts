import { createServer, type Server as TcpServer } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Opens the server and returns its address. `localhost` means both loopback addresses, with one server for all
 * connections: Fastify would make a second server for `::1`, without our connection limits and our answer to broken
 * requests.
 */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  if (host !== 'localhost') return app.listen({ host, port })
  const other = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    app.server.emit('connection', socket),
  )
  app.addHook('onClose', () => close(other, app))
  const address = await app.listen({ host: '127.0.0.1', port })
  await openIpv6(other, Number(new URL(address).port))
  return address
}

/** Does nothing on a machine without IPv6. */
async function openIpv6(other: TcpServer, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    other.once('error', (error: NodeJS.ErrnoException) =>
      noIpv6.has(error.code ?? '') ? resolve() : reject(error),
    )
    other.listen({ host: '::1', port }, resolve)
  })
}

/** Waits for open requests. */
async function close(other: TcpServer, app: FastifyInstance): Promise<void> {
  if (!other.listening) return
  const closed = new Promise((resolve) => other.close(resolve))
  app.server.closeIdleConnections()
  await closed
}

const noIpv6: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])
