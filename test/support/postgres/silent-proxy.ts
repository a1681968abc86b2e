import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

type Link = Readonly<{ client: Socket; server: Socket }> & { database: string; isSilent: boolean }

export type SilentProxy = Readonly<{
  /** The database behind the proxy. */
  url: string
  /** Open connections to this database stay open and silent; with `andNew` also those opened from now on. */
  silence: (database: string, options?: { andNew?: boolean }) => void
  /** Everything held back is delivered late. */
  speak: () => void
}>

/** A proxy to PostgreSQL whose connections can fall silent: neither side sees an end, and TCP finds nothing wrong. */
export async function silentProxy(t: TestContext, url: string): Promise<SilentProxy> {
  const target = new URL(url)
  const links = new Set<Link>()
  const silentDatabases = new Set<string>()
  const proxy = createServer((client) => {
    const link: Link = {
      client,
      server: connect(Number(target.port), target.hostname),
      database: '',
      isSilent: false,
    }
    links.add(link)
    client.once('data', (startUp: Buffer) => {
      link.database = /\0database\0([^\0]*)\0/.exec(startUp.toString('latin1'))?.[1] ?? ''
      link.server.write(startUp)
      if (silentDatabases.has(link.database)) hush(link)
      else join(link)
    })
    for (const [one, other] of [
      [client, link.server],
      [link.server, client],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => {
        if (!link.isSilent) other.destroy()
      })
    }
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  t.after(async () => {
    for (const { client, server } of links) {
      client.destroy()
      server.destroy()
    }
    await new Promise((done) => proxy.close(done))
  })
  const proxied = new URL(url)
  proxied.port = String((proxy.address() as AddressInfo).port)
  return {
    url: proxied.href,
    silence: (database, { andNew = false } = {}) => {
      if (andNew) silentDatabases.add(database)
      for (const link of links) if (link.database === database) hush(link)
    },
    speak: () => {
      silentDatabases.clear()
      for (const link of links) if (link.isSilent) join(link)
    },
  }
}

function join(link: Link): void {
  link.isSilent = false
  link.client.pipe(link.server)
  link.server.pipe(link.client)
}

function hush(link: Link): void {
  link.isSilent = true
  link.client.unpipe(link.server).pause()
  link.server.unpipe(link.client).pause()
}
