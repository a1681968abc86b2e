import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { type Credential, readCredential } from '../../../auth/credential.ts'

/** The credential of a request. Ignores an Authorization header that another site made the browser send. */
export function credentialIn({ headers, query, body }: RequestParts): Credential {
  const authorization = isSentByAnotherSite(headers) ? undefined : headers.authorization
  return readCredential({ authorization, query: query as Readonly<Record<string, unknown>>, body })
}

type RequestParts = Pick<FastifyRequest, 'headers' | 'query' | 'body'>

/**
 * True if another site made the browser send this request, and the browser added the Authorization header; no page
 * wrote it. A page that writes the header itself must use CORS without stored credentials (`credentials: 'include'`,
 * which Chromium shows by Sec-Fetch-Storage-Access): our CORS answers allow no such request.
 */
export function isSentByAnotherSite(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return headers['sec-fetch-mode'] !== 'cors' || headers['sec-fetch-storage-access'] !== undefined
}

/**
 * The challenge of a 401. A browser that is asked for Basic shows a password dialog, keeps the token and sends it with
 * every image, form and link of any site. So browsers get an unknown scheme, which shows no dialog.
 */
export function challengeFor(headers: IncomingHttpHeaders): string {
  return mayBeBrowser(headers) ? 'Cartage-Token realm="Cartage"' : 'Basic realm="Cartage"'
}

/**
 * Only a client whose User-Agent does not look like a browser's counts as a program. Over plain HTTP browsers send no
 * Sec-Fetch headers, but always a User-Agent that begins with Mozilla (Opera in old ones).
 */
function mayBeBrowser(headers: IncomingHttpHeaders): boolean {
  const agent = headers['user-agent'] ?? ''
  return browserHeaders.some((name) => headers[name] !== undefined) || !/^(?!mozilla|opera)\w/i.test(agent)
}

/** Some programs send the other Sec-Fetch headers (Node's fetch does), but not this one. */
const browserHeaders = ['sec-fetch-site', 'upgrade-insecure-requests', 'origin'] as const
