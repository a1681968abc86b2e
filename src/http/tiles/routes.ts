import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { catalogLimits } from '../../statements/time-limits.ts'
import { listLayers } from '../../tiles/list-layers.ts'
import type { Tile, TileClient } from '../../tiles/tiles.ts'
import { mapsCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { chooseEncoding, encodeWhole } from '../middleware/content-encoding.ts'
import type { WithQuery } from '../middleware/parameters.ts'
import { replicaReader } from '../middleware/read-from.ts'
import type { Services } from '../services.ts'
import { listDocument } from './document.ts'
import { respondWithMapError } from './error-response.ts'
import { layersNamed, readMaxAge, readTileRequest } from './request.ts'
import { listSchema, tileJsonSchema, tileSchema } from './schemas.ts'
import { sendTileJson, setCaching, tagsOf, tilesUrl } from './send-tile-json.ts'

/** Vector tiles of tables, as the role of the key that asks. */
export async function tilesRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases, tiles } = services
  app.setErrorHandler(respondWithMapError)
  // The schemas only describe; the readers report what is wrong.
  app.setValidatorCompiler(() => () => true)

  app.get('/api/v1/tiles', { ...tables, schema: listSchema }, async (request, reply) => {
    const principal = await mapsCaller(services, request)
    const layers = await listLayers(databases, principal, catalogLimits(config, principal), clientGone(reply))
    return listDocument(layers, principal.account.schema, tilesUrl(services, request, principal))
  })

  app.get<OneTileJson>(
    '/api/v1/tiles/:table',
    { ...tables, schema: tileJsonSchema },
    async (request, reply) => {
      const principal = await mapsCaller(services, request)
      const asked = layersNamed(request.params.table, request.query)
      return sendTileJson(services, request, reply, principal, asked)
    },
  )

  app.get('/api/v1/tiles/:table/:z/:x/:y', { ...one, schema: tileSchema }, async (request, reply) => {
    const principal = await mapsCaller(services, request)
    const maxAge = readMaxAge(request)
    const asked = readTileRequest(request, config.tileMaxFeatures)
    const tile = await tiles.tile(principal, asked, {
      ...clientOf(request, reply),
      reader: replicaReader(reply, principal),
    })
    setCaching(reply, principal, maxAge)
    return sendTile(reply, tile)
  })
}

type OneTileJson = WithQuery & { Params: { table: string } }

const tables = { config: { rateGroup: 'tables' } } as const
export const one = { config: { rateGroup: 'tile', isTile: true } } as const

export function clientOf(request: FastifyRequest, reply: FastifyReply): TileClient {
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  const tags = tagsOf(request)
  return {
    gone: clientGone(reply),
    hasTag: (tag) => tags.includes(tagOf(tag, null)) || tags.includes(tagOf(tag, encoding)),
    encoding: encoding && { name: encoding, encode: (bytes) => encodeWhole(bytes, encoding) },
  }
}

/** An entity tag is that of the bytes as sent. */
const tagOf = (tag: string, encoding: string | null | undefined) =>
  `"${tag}${encoding ? `-${encoding}` : ''}"`

export function sendTile(reply: FastifyReply, { tag, bytes, encoding, truncated }: Tile): FastifyReply {
  if (truncated.length > 0)
    reply.header(
      'carto-tile-truncated',
      truncated.map(({ name, kept }) => `${encodeURIComponent(name)}=${kept}`).join(', '),
    )
  if (bytes === null) return reply.code(304).header('etag', sentTag(reply, tag)).send()
  reply.header('etag', tagOf(tag, encoding))
  if (bytes.length === 0) return reply.code(204).send()
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type('application/x-protobuf').send(bytes)
}

/** The one that the client has. */
const sentTag = ({ request }: FastifyReply, tag: string) =>
  tagsOf(request).find((each) => each.startsWith(`"${tag}`)) ?? tagOf(tag, null)
