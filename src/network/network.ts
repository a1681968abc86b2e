import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
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
  resolve: publicAddresses,
  mayConnect: (address, port) => (port === 80 || port === 443) && isPublicAddress(address),
}

/** Names as this machine knows them, also from its own files. For hosts that the operator has listed. */
export const namesHere: Pick<Network, 'resolve'> = {
  resolve: (host) => lookup(host, { all: true, verbatim: true }),
}

/**
 * By the name servers alone, in a few seconds. `dns.lookup` has a few threads for the whole process, and a name whose
 * servers do not answer holds one: also connections to databases would wait.
 */
async function publicAddresses(host: string): Promise<readonly NetworkAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled'
      ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  )
  if (found.length === 0) throw (answers[0] as PromiseRejectedResult).reason
  return found
}

/** False for addresses of private and local networks, in whatever form, and for those of this machine. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  if (parsed.kind() === 'ipv6' && !parsed.match(globalUnicast)) return false
  return address !== azureHost && !ownAddresses().has(parsed.toNormalizedString())
}

/** The host of an Azure virtual machine: private, although the address is in a public range. */
const azureHost = '168.63.129.16'

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
