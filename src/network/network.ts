import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** What requests of the service may reach. Tests have one of their own. */
export type Network = Readonly<{
  /** All addresses of a host. An address is its own. */
  resolve: (host: string) => Promise<readonly NetworkAddress[]>
  mayConnect: (address: string, port: number) => boolean
}>

export type NetworkAddress = Readonly<{ address: string; family: number }>

/** The public internet, by the usual ports. */
export const publicNetwork: Network = {
  resolve: (host) => lookup(host, { all: true, verbatim: true }),
  mayConnect: (address, port) => (port === 80 || port === 443) && isPublicAddress(address),
}

/** False for addresses of private and local networks, in whatever form, and for those of this machine. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  if (parsed.kind() === 'ipv6' && !parsed.match(globalUnicast)) return false
  return !ownAddresses().has(parsed.toNormalizedString())
}

const globalUnicast = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number]

function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return new Set(all.map(({ address }) => ipaddr.parse(address).toNormalizedString()))
}

/** For the connection to addresses that were checked: the name is not resolved again, as another answer could lead elsewhere. */
export const only =
  (addresses: readonly NetworkAddress[]): LookupFunction =>
  (_host, { all }, done) => {
    if (all)
      done(
        null,
        addresses.map((each) => ({ ...each })),
      )
    else done(null, addresses[0]!.address, addresses[0]!.family)
  }
