import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { type Network, only } from '../network/network.ts'
import type { DeliveryAttempt } from './delivery-store.ts'
import { type Allowed, findTarget, Unreachable } from './target.ts'

export type Message = Readonly<{ url: string; headers: Readonly<Record<string, string>>; body: string }>

/** One attempt: resolved, checked, and connected to what was checked, within 5 seconds. Of the answer only the status is read. */
export async function sendMessage(
  allowed: Allowed,
  message: Message,
  stopping: AbortSignal,
  network?: Pick<Network, 'resolve'>,
): Promise<DeliveryAttempt> {
  const ending = new AbortController()
  const { signal } = ending
  const end = () => ending.abort()
  const timer = setTimeout(end, limitMs)
  stopping.addEventListener('abort', end)
  try {
    const status = await statusOf(allowed, message, signal, network)
    const isDelivered = status >= 200 && status < 300
    const failure = isDelivered ? null : `The answer has the status ${status}`
    return { isDelivered, answer: status, failure }
  } catch (error) {
    return { isDelivered: false, answer: null, failure: textOf(error, signal) }
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', end)
  }
}

const limitMs = 5_000

async function statusOf(
  allowed: Allowed,
  { url: text, headers, body }: Message,
  signal: AbortSignal,
  network: Pick<Network, 'resolve'> | undefined,
): Promise<number> {
  const url = new URL(text)
  const addresses = await findTarget(allowed, url, signal, network)
  const send = url.protocol === 'https:' ? overHttps : overHttp
  const bytes = Buffer.from(body)
  const sent = {
    ...headers,
    'content-type': 'application/json',
    'content-length': bytes.length,
    'user-agent': 'Cartage',
  }
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: 'POST',
      agent: false,
      lookup: only(addresses),
      headers: sent,
      signal,
    })
    request.once('response', (response: IncomingMessage) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    // After an answer of 101 neither a response nor an error follows.
    request.once('upgrade', (_response: IncomingMessage, socket: Duplex) => {
      resolve(101)
      socket.destroy()
    })
    request.on('error', reject)
    request.once('close', () => reject(new Error('The connection was closed')))
    request.end(bytes)
  })
}

/** The error text for the user, without addresses and names of this server's network. */
function textOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof Unreachable) return error.message
  if (signal.aborted) return 'There was no answer within 5 seconds'
  const { code = '' } = error as NodeJS.ErrnoException
  if (/CERT|SSL|TLS|VERIFY/.test(code)) return 'The certificate is not valid, or TLS failed'
  return code === 'ECONNREFUSED' ? 'The connection was refused' : 'The connection failed'
}
