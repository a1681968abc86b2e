import { sessionsOf } from '../../src/client/api/session-api.ts'
import { browserTransport } from '../../src/client/http/browser-transport.ts'
import type { ClientSession } from '../../src/client/session/client-session.ts'
import { serviceAddress } from '../parts/browser/address.ts'
import type { RunAs } from './run-as.ts'

export function openSession(as: RunAs, signal: AbortSignal): Promise<ClientSession> {
  const { username, token } = as.credential
  const caller = { baseUrl: serviceAddress, account: username, username, token }
  return sessionsOf({ ...caller, numbers: 'string', transport: browserTransport }).session({ signal })
}
