import { isIP } from 'node:net'
import { maxWebhookUrl } from '../contract/webhooks.ts'
import { errors } from '../errors.ts'
import { type Network, type NetworkAddress, namesHere, publicNetwork } from '../network/network.ts'

/** Which addresses webhooks may reach: `public`, and hosts with or without a port. */
export type Allowed = readonly string[]

/** A URL that may be a target, by its text alone: a name may still lead to an address that may not be reached. */
export function readTarget(allowed: Allowed, text: unknown): string {
  if (allowed.length === 0) throw errors.webhooksDisabled()
  if (typeof text !== 'string' || text.length > maxWebhookUrl || !URL.canParse(text))
    throw errors.webhookInvalid(`url must be an address of at most ${maxWebhookUrl} characters`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw errors.webhookInvalid('url must begin with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw errors.webhookInvalid('url must not have a user name or a password')
  const { host, port } = placeOf(url)
  const isKnown = isIP(host) !== 0
  if (isListed(allowed, url)) return url.href
  if (
    !allowed.includes('public') ||
    (port !== 80 && port !== 443) ||
    (isKnown && !publicNetwork.mayConnect(host, port))
  )
    throw errors.webhookInvalid(refusalOf(url))
  return url.href
}

const refusalOf = ({ host }: URL) => `${host} is not an address that webhooks of this server may reach`

/** The addresses to connect to. Throws an error whose text tells nothing of the network of this server. */
export async function findTarget(
  allowed: Allowed,
  url: URL,
  signal: AbortSignal,
  network?: Pick<Network, 'resolve'>,
): Promise<readonly NetworkAddress[]> {
  const { host, port } = placeOf(url)
  const isPublicOnly = !isListed(allowed, url)
  if (isPublicOnly && !allowed.includes('public')) throw new Unreachable(refusalOf(url))
  const names = network ?? (isPublicOnly ? publicNetwork : namesHere)
  const found = await addressesOf(host, signal, names).catch(() => [])
  // A name without an address reads like one with a private address.
  const isAllowed =
    found.length > 0 &&
    (!isPublicOnly || found.every(({ address }) => publicNetwork.mayConnect(address, port)))
  if (!isAllowed) throw new Unreachable(`${url.host} has no address that webhooks of this server may reach`)
  return found
}

/** Its text may be shown to the user. */
export class Unreachable extends Error {}

async function addressesOf(host: string, signal: AbortSignal, network: Pick<Network, 'resolve'>) {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const stopped = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return Promise.race([network.resolve(host), stopped])
}

function placeOf(url: URL): Readonly<{ host: string; port: number }> {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
  }
}

/** With its port; without one, on the usual ones. */
function isListed(allowed: Allowed, url: URL): boolean {
  const name = url.hostname.toLowerCase()
  const { port } = placeOf(url)
  return allowed.includes(`${name}:${port}`) || ((port === 80 || port === 443) && allowed.includes(name))
}
