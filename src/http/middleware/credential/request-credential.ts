import type { FastifyRequest } from 'fastify'
import { type Credential, readCredential } from '../../../auth/credential.ts'
import { isSentByAnotherSite } from './browsers.ts'

/** The credential of a request. Ignores an Authorization header that another site made the browser send. */
export function credentialIn({ headers, query, body }: AskedRequest): Credential {
  const authorization = isSentByAnotherSite(headers) ? undefined : headers.authorization
  return readCredential({ authorization, query: query as Readonly<Record<string, unknown>>, body })
}

type AskedRequest = Pick<FastifyRequest, 'headers' | 'query' | 'body'>
