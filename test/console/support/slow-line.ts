import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

export type SlowLine = Readonly<{
  url: string
  /** From now on nothing passes, as if the cable were pulled. */
  goSilent: () => void
  /** Drops this many answers to requests of this method and path, with their connections. */
  loseAnswers: (path: RegExp, count: number) => void
}>

/**
 * A connection to the service with 1 MB/s upload. The debugger's throttle does not help here: it ends with the page and
 * then releases what it held back.
 */
export async function slowLine(t: TestContext, serviceUrl: string): Promise<SlowLine> {
  let isSilent = false
  let toLose = { path: /^$/, answers: 0 }
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const service = connect({
      port: Number(new URL(serviceUrl).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    })
    sockets.push(client, service)
    let asked = ''
    client.on('data', (chunk) => {
      asked = /^[A-Z]+ \/[^ ?]*/.exec(chunk.toString('latin1', 0, 200))?.[0] ?? asked
    })
    service.on('data', () => {
      if (toLose.answers === 0 || !toLose.path.test(asked)) return
      toLose.answers--
      client.destroy()
    })
    carry(client, service, bytesOfSecond, () => isSilent)
    carry(service, client, Number.POSITIVE_INFINITY, () => isSilent)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const goSilent = () => {
    isSilent = true
  }
  const loseAnswers = (path: RegExp, answers: number) => {
    toLose = { path, answers }
  }
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, goSilent, loseAnswers }
}

const bytesOfSecond = 1_000_000

function carry(from: Socket, to: Socket, rate: number, isSilent: () => boolean): void {
  from.on('data', async (chunk: Buffer) => {
    from.pause()
    if (isSilent()) return
    to.write(chunk)
    await sleep((chunk.length / rate) * 1000)
    from.resume()
  })
  from.on('end', () => isSilent() || to.end())
  from.on('close', () => isSilent() || to.destroy())
  from.on('error', () => undefined)
}
