import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isDamaged } from '../../../auth/token.ts'
import type { ErrorCode } from '../../../contract/error-codes.ts'
import { isJsonObject } from '../../../contract/text/json-object.ts'
import { credentialIn, isSentByAnotherSite } from './request-credential.ts'

export const hintHeader = 'Cartage-Hint'

/** A credential under a wrong name (`apikey`) is not read. The answer says so in a header, whatever its status. */
export function hintAtNearMisses(app: FastifyInstance): void {
  app.addHook('preHandler', (request, reply, done) => {
    const hint = credentialIn(request).kind === 'none' ? nearMissIn(request) : undefined
    if (hint !== undefined) reply.header(hintHeader, hint)
    done()
  })
}

/** Why a credential was refused. Reveals nothing that the request or the refusal does not show. */
export function refusalHint(request: FastifyRequest, code: ErrorCode): string {
  const outcome = request.identification?.outcome
  if (outcome === 'wrong-username') return 'The user name in the Basic header is not the name of the account'
  if (outcome === 'known')
    return code === 'unauthorized' ? revoked : 'The key is valid, but not allowed to do this'
  const credential = credentialIn(request)
  if (credential.kind === 'none')
    return ignoredIn(request) ?? nearMissIn(request) ?? `The request has no credential. ${howToSend}`
  if (credential.kind === 'malformed') return malformedHint(request.headers.authorization)
  return isDamaged(credential.token)
    ? 'The token is damaged: its checksum is wrong. Copy the whole token again'
    : 'No key of this account has this token'
}

/** A key that was known is refused only if it has changed since then. */
const revoked =
  'The key was valid when the request arrived, but no longer is: it was deleted, its token was replaced, it has expired, or its user changed'

const howToSend =
  'Send "Authorization: Basic" with base64(username:token), or the token as the parameter api_key'

function ignoredIn({ headers }: FastifyRequest): string | undefined {
  return headers.authorization !== undefined && isSentByAnotherSite(headers)
    ? 'The Authorization header was ignored: a page of another site may send it only with fetch (CORS)'
    : undefined
}

function malformedHint(authorization: string | undefined): string {
  if (authorization === undefined) return 'api_key must be one text of at most 1024 characters'
  const [scheme = ''] = authorization.trim().split(' ', 1)
  if (scheme.toLowerCase() === 'basic') return `The Authorization header cannot be read. ${howToSend}`
  return schemes.has(scheme.toLowerCase()) ? `${scheme} is not a scheme here. ${howToSend}` : howToSend
}

/** Other words are not repeated: one may be a token sent without a scheme. */
const schemes = new Set(['bearer', 'token', 'digest', 'negotiate', 'apikey'])

function nearMissIn({ query, body, headers }: FastifyRequest): string | undefined {
  const parameter = [...namesIn(query), ...namesIn(body)].find(isNearMiss)
  if (parameter !== undefined) return `The parameter ${parameter} is not a credential: its name is api_key`
  const header = Object.keys(headers).find((name) => isNearMiss(name.replace(/^x-/, '')))
  return header && `The header ${header} is not a credential. ${howToSend}`
}

function namesIn(value: unknown): readonly string[] {
  return isJsonObject(value) ? Object.keys(value) : []
}

function isNearMiss(name: string): boolean {
  if (name === 'api_key' || name === 'map_key' || !/^[\w-]{3,20}$/.test(name)) return false
  const letters = name.toLowerCase().replace(/[^a-z]/g, '')
  return nearMisses.has(letters) || sorted(letters) === sorted('apikey')
}

const sorted = (letters: string) => [...letters].sort().join('')
const nearMisses = new Set(['apikeys', 'apike', 'apky', 'mapkey', 'apitoken', 'accesstoken', 'key', 'token'])
