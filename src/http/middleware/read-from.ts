import type { FastifyReply } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { type ReadFrom, readFroms } from '../../contract/key-names.ts'
import { errors } from '../../errors.ts'
import type { ReplicaReader } from '../../statements/replica-reader.ts'

/** The caller as a reader of a replica, if the request or its key asks for one. The answer says how old its data is at most. */
export function replicaReader(reply: FastifyReply, { key }: Principal): ReplicaReader | undefined {
  if ((readFromOf(reply.request.headers['x-read-from']) ?? key.readFrom) !== 'replica') return undefined
  const ages: number[] = []
  const tell = () => {
    if (ages.length === 0) reply.removeHeader('x-data-age-ms')
    else reply.header('x-data-age-ms', Math.ceil(Math.max(...ages)))
  }
  return {
    begins: (ageMs) => {
      ages.push(ageMs)
      tell()
    },
    returns: () => {
      ages.pop()
      tell()
    },
  }
}

function readFromOf(given: string | string[] | undefined): ReadFrom | undefined {
  if (given === undefined) return undefined
  const known = readFroms.find((each) => each === given)
  if (known === undefined) throw errors.badRequest('X-Read-From must be replica or primary')
  return known
}

/** The header of an endpoint that calls `replicaReader`. */
export const readFromHeader = {
  'x-read-from': {
    type: 'string',
    enum: readFroms,
    description:
      '`replica`: a replica may answer, with data that is a little older. Without a header, as `read_from` of the key says.',
  },
} as const

export const dataAgeHeader = {
  'X-Data-Age-Ms': {
    type: 'integer',
    description: 'A replica has answered: how old its data is at most, in milliseconds',
  },
} as const
