import type { FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import type { Config } from '../../config.ts'

type Public = Pick<Config, 'publicUrl'>

/** The address under which the client sees this service, without a slash at the end. */
export function baseUrlOf(request: FastifyRequest, { publicUrl }: Public): string {
  return publicUrl ? publicUrl.replace(/\/+$/, '') : `${request.protocol}://${request.host}`
}

/** Where the endpoints of an account begin. */
export function accountUrlOf(request: FastifyRequest, config: Public, { username }: Account): string {
  return `${baseUrlOf(request, config)}/user/${username}`
}

/** The address of the request itself, without its parameters. */
export function addressOf(request: FastifyRequest, config: Public): string {
  return `${baseUrlOf(request, config)}${pathOf(request)}`
}

/** The same for a header: without a public address it is the path, whatever the client calls the host. */
export function locationOf(request: FastifyRequest, config: Public): string {
  return config.publicUrl ? addressOf(request, config) : pathOf(request)
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!.replace(/\/$/, '')
}
