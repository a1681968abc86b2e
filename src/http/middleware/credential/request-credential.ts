import type { FastifyRequest } from 'fastify'
import { type Credential, readCredential } from '../../../auth/credential.ts'
import { isSentByAnotherSite } from './browsers.ts'

/** The credential that a request offers. An Authorization header that another site made the browser send counts for nothing. */
export function credentialIn({ headers, query, body }: Asked): Credential {
  const authorization = isSentByAnotherSite(headers) ? undefined : headers.authorization
  return readCredential({ authorization, query: query as Readonly<Record<string, unknown>>, body })
}

type Asked = Pick<FastifyRequest, 'headers' | 'query' | 'body'>
