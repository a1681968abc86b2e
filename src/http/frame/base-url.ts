import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'

/** The address under which the client sees this service, without a slash at the end. */
export function baseUrlOf(request: FastifyRequest, { publicUrl }: Pick<Config, 'publicUrl'>): string {
  return publicUrl ? publicUrl.replace(/\/+$/, '') : `${request.protocol}://${request.host}`
}
