import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/**
 * Where a request came from. A proxy may pass on any text for an address: then the proxy itself is meant. Over a Unix socket
 * there is none, and none is known of a client that has gone.
 */
export function clientAddress({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>): string {
  const [address = ''] = (ip ?? '').split('%', 1)
  return isIP(address) ? address : (raw.socket.remoteAddress ?? 'unknown')
}

/** What one client can choose its address from: of IPv6 at least a network of 64 bits is given to everybody. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${parsed.toByteArray().slice(0, 8)}`
}
