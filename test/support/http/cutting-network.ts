import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A network that cuts every connection after so many bytes of the client, a number of times. */
export async function cuttingNetwork(t: TestContext, url: string, bytes: number, cuts: number) {
  const { port, hostname } = new URL(url)
  let left = cuts
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const service = connect(Number(port), hostname)
    let passed = 0
    for (const socket of [client, service]) sockets.add(socket.on('error', () => undefined))
    service.pipe(client)
    client.on('data', (chunk) => {
      passed += chunk.length
      if (!service.write(chunk)) {
        client.pause()
        service.once('drain', () => client.resume())
      }
      if (passed < bytes || left === 0) return
      left -= 1
      client.destroy()
      service.end()
    })
    client.on('close', () => service.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = new URL(url)
  address.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: address.href.replace(/\/$/, ''), cutsLeft: () => left }
}
