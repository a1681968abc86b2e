import type { FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import type { Config } from '../../config/config.ts'

type Public = Pick<Config, 'publicUrl'>

/** The service's address as the client sees it, without a trailing slash. */
export function baseUrlOf(request: FastifyRequest, { publicUrl }: Public): string {
  return publicUrl ? publicUrl.replace(/\/+$/, '') : `${request.protocol}://${request.host}`
}

/** The base address of an account's endpoints. */
export function accountUrlOf(request: FastifyRequest, config: Public, { username }: Account): string {
  return `${baseUrlOf(request, config)}/user/${username}`
}

/** The address of the request itself, without its parameters. */
export function addressOf(request: FastifyRequest, config: Public): string {
  return `${baseUrlOf(request, config)}${pathOf(request)}`
}

/** The same for a header: without a public address only the path, as the client may send any host. */
export function locationOf(request: FastifyRequest, config: Public): string {
  return config.publicUrl ? addressOf(request, config) : pathOf(request)
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!.replace(/\/$/, '')
}
