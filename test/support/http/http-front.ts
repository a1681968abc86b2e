import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'

/** What happens to one request: it passes, it is lost, its answer is lost, or the front answers by itself. */
export type Mishap = 'pass' | 'lose-request' | 'lose-answer' | 'tear-answer' | Answer
export type Answer = Readonly<{ status: number; headers?: Record<string, string>; body?: string }>

export type HttpFront = Readonly<{
  url: string
  /** `METHOD path` of every request so far. */
  seen: readonly string[]
  /** The fates of the next requests, one each; all later ones pass. */
  next: (...mishaps: Mishap[]) => void
}>

/** Stands between a client and the service, like a bad network or load balancer. */
export async function startFront(t: TestContext, upstream: string): Promise<HttpFront> {
  const seen: string[] = []
  const mishaps: Mishap[] = []
  const server = createServer((incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url!.split('?')[0]}`)
    const mishap = mishaps.shift()
    if (mishap === 'lose-request') incoming.socket.destroy()
    else if (typeof mishap === 'object') outgoing.writeHead(mishap.status, mishap.headers).end(mishap.body)
    else pass(upstream, incoming, outgoing, mishap)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen, next: (...more) => mishaps.push(...more) }
}

function pass(
  upstream: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  mishap: Mishap | undefined,
): void {
  const onward = request(
    `${upstream}${incoming.url}`,
    { method: incoming.method!, headers: incoming.headers },
    (answer) => {
      if (mishap === 'lose-answer') answer.resume().once('end', () => incoming.socket.destroy())
      else {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        if (mishap === 'tear-answer')
          answer.once('data', (chunk) => outgoing.write(chunk, () => incoming.socket.destroy()))
        else pipeline(answer, outgoing).catch(() => incoming.socket.destroy())
      }
    },
  )
  onward.on('error', () => incoming.socket.destroy())
  outgoing.on('close', () => onward.destroy())
  incoming.pipe(onward)
}
