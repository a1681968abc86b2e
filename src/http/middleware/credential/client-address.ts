import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/**
 * The address of the client. If a proxy passes on something that is not an address, the proxy's own address. Unknown
 * over a Unix socket, or after the client has gone.
 */
export function clientAddress({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>): string {
  const [address = ''] = (ip ?? '').split('%', 1)
  return isIP(address) ? address : (raw.socket.remoteAddress ?? 'unknown')
}

/** The addresses that one client can choose from: with IPv6, every client gets a network of at least 64 bits. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${parsed.toByteArray().slice(0, 8)}`
}
