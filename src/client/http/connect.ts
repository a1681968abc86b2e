import { parseExact, stringifyExact } from '../exact-json.ts'
import type { Connection } from './send.ts'
import type { Transport } from './transport.ts'

/** A connection whose numbers are as exact as the service wrote them. */
export function connect(
  baseUrl: string,
  authorization: string,
  transport: Transport,
  retries = defaultRetries,
): Connection {
  return {
    baseUrl: baseUrl.replace(/\/+$/, ''),
    authorization: () => authorization,
    transport,
    retries,
    hooks: {},
    json: { read: parseExact, write: stringifyExact },
  }
}

const defaultRetries = 3
