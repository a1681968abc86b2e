import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { TestUser } from '../service/setup.ts'

export type RawRequest = Readonly<{
  method?: string
  path: string
  headers?: Readonly<Record<string, string | number>>
  body?: string
}>

/** A request as the bytes of HTTP/1.1. */
export function rawRequest({ method = 'GET', path, headers = {}, body = '' }: RawRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n${body}`
}

/** A path of the user's endpoints with parameters, including the master token unless another is given. */
export function pathOf(
  { base, masterToken }: TestUser,
  path: string,
  parameters: Record<string, string>,
): string {
  const all = new URLSearchParams({ api_key: masterToken, ...parameters })
  return `${new URL(base).pathname}${path}?${all}`
}

export type RawConnection = Readonly<{ socket: Socket; text: () => string; closed: Promise<void> }>

/** A connection on which the test writes the bytes itself. */
export async function openRaw(t: TestContext, url: string, address = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect(Number(new URL(url).port), address).setNoDelay()
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await once(socket, 'connect')
  return { socket, text: () => text, closed }
}
