import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InstantiatedMap } from '../../maps/maps.ts'
import { accountUrlOf } from '../middleware/address.ts'
import type { Services } from '../services.ts'
import { withMaxAge } from '../tiles/request.ts'
import { layergroupDocument } from './document.ts'
import { strictestReader } from './find-map.ts'
import { sendAnswer } from './jsonp.ts'

export type Layergroup = Readonly<{
  map: InstantiatedMap
  /** In the addresses of its tiles. */
  id: string
  /** Parameters of its tiles. */
  query: URLSearchParams
  callback: string | undefined
  /** Seconds for which the client need not ask again, neither for this nor for a tile. */
  maxAge: number | undefined
}>

/** Answers with a map that was made. */
export function sendLayergroup(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { map, id, query, callback, maxAge }: Layergroup,
): FastifyReply {
  const { changedMs } = map
  const principal = strictestReader(map)
  const layergroupid = `${id}:${changedMs}`
  const url = accountUrlOf(request, services.config, principal.account)
  const document = layergroupDocument(map, {
    layergroupid,
    changedMs,
    url,
    query: withMaxAge(query, maxAge),
  })
  reply.header('x-layergroup-id', layergroupid)
  return sendAnswer(request, reply, { reader: principal, callback, document, maxAge })
}
