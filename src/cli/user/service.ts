import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { type Client, type ClientSession, createClient } from '../../client/client.ts'
import { untilInterrupted } from '../interrupt.ts'
import type { UserCall } from './command.ts'
import { type Access, findAccess } from './profile/access.ts'

/** An account of a service, and a client that has its key. */
export type Service = Readonly<{
  client: Client
  /** Opens a session with the same key. */
  openSession: (signal: AbortSignal) => Promise<ClientSession>
  signal: AbortSignal
}> &
  Omit<Access, 'key'>

/** Runs `work` with the account that findAccess finds. Ctrl-C aborts its requests. */
export async function withService<T>(call: UserCall, work: (service: Service) => Promise<T>): Promise<T> {
  const { key, ...access } = await findAccess(call)
  if (call.values.verbose) showRequests(call)
  return untilInterrupted(async (signal) => {
    const client = createClient({ baseUrl: access.url, username: access.user, token: key })
    const openSession: Service['openSession'] = (stopped) => sessionOf({ ...access, key }, stopped)
    try {
      return await work({ ...access, client, openSession, signal })
    } finally {
      client.close()
    }
  })
}

/** withService as another key of the account; the first key must be allowed to read its token. */
export async function withServiceAs<T>(
  call: UserCall,
  key: string | undefined,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  return withService(call, async (service) => {
    if (key === undefined) return work(service)
    const { token } = await service.client.keys.read(key)
    const client = createClient({ baseUrl: service.url, username: service.user, token })
    const openSession: Service['openSession'] = (stopped) => sessionOf({ ...service, key: token }, stopped)
    try {
      return await work({ ...service, client, openSession })
    } finally {
      client.close()
    }
  })
}

function sessionOf(
  { url, user, key }: Pick<Access, 'url' | 'user' | 'key'>,
  signal: AbortSignal,
): Promise<ClientSession> {
  return createClient({ baseUrl: url, username: user, token: key }).session({ signal })
}

/** Shows every request of Node, without tokens and statements. */
function showRequests({ terminal }: UserCall): void {
  const begun = new WeakMap<ClientRequest, number>()
  const pathOf = ({ path }: ClientRequest) => path.split('?')[0]
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest }
    begun.set(request, performance.now())
    terminal.say(`> ${request.method} ${request.host} ${pathOf(request)}`, 'dim')
  })
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    const taken = Math.round(performance.now() - (begun.get(request) ?? 0))
    const id = response.headers['x-request-id'] ?? '-'
    terminal.say(`< ${response.statusCode} after ${taken} ms, request ${id}`, 'dim')
  })
}
