import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { defaultToken } from '../../contract/key-names.ts'
import { describeLayers } from '../../tiles/describe-layers.ts'
import type { LayersRequest } from '../../tiles/tiles.ts'
import { accountUrlOf } from '../middleware/address.ts'
import { clientGone } from '../middleware/client-gone.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { tileJsonDocument } from './document.ts'
import { readMaxAge } from './request.ts'

/** Answers with the TileJSON of these tables, or that the client has it already. */
export async function sendTileJson(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
  asked: LayersRequest,
): Promise<FastifyReply> {
  const maxAge = readMaxAge(request)
  const described = await describeLayers(services.tiles, principal, asked, clientGone(reply))
  const url = `${tilesUrl(services, request, principal)}/${encodeURIComponent(asked.table)}`
  const { columns } = asked
  const document = tileJsonDocument({ ...described, url, columns, query: tileQuery(request) })
  return sendTagged(request, reply, principal, document, maxAge)
}

/** Answers with a document, or that the client has it already. `version` stands before the rest of its tag. */
export function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
  document: unknown,
  maxAge?: number,
  version?: string,
): FastifyReply {
  const body = JSON.stringify(document)
  setCaching(reply, principal, maxAge)
  const tag = tagOf(body, version)
  reply.header('etag', tag)
  if (tagsOf(request).includes(tag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

export function tagOf(body: string, version?: string): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return `"${version === undefined ? '' : `${version}.`}${hash}"`
}

/** The token stands in the addresses of tiles only if it stood in this one. */
function tileQuery(request: FastifyRequest): URLSearchParams {
  const { api_key, columns, limit, max_age } = request.query as Parameters
  const token = api_key === defaultToken ? undefined : api_key
  const given = Object.entries({ api_key: token, columns, limit, max_age })
  return new URLSearchParams(given.filter((pair): pair is [string, string] => typeof pair[1] === 'string'))
}

export const tilesUrl = ({ config }: Services, request: FastifyRequest, { account }: Principal) =>
  `${accountUrlOf(request, config, account)}/api/v1/tiles`

/** The ETags of the answers that the client has. */
export const tagsOf = ({ headers }: FastifyRequest) =>
  (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))

export function setCaching(reply: FastifyReply, { key }: Principal, maxAge: number | undefined): void {
  const scope = key.type === 'default' ? 'public' : 'private'
  reply.header('cache-control', `${scope}, ${maxAge === undefined ? 'no-cache' : `max-age=${maxAge}`}`)
  const isChosen = reply.request.headers['x-read-from'] !== undefined
  reply.header('vary', `Authorization, Accept-Encoding${isChosen ? ', X-Read-From' : ''}`)
}
