import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, errors } from '../../errors.ts'
import { framedPolicy } from '../console/policy.ts'
import { respondInForm, type Thrown } from '../middleware/error-response.ts'
import { mapErrorForm } from '../tiles/error-response.ts'
import type { MapPage } from './map-page.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answer is for people, errors too. */
    isPage?: boolean
  }
}

export const htmlType = 'text/html; charset=utf-8'

/** Errors for viewers of a map. They show nothing of its SQL and its tables. */
export function respondToViewer(
  thrown: Thrown,
  request: FastifyRequest,
  reply: FastifyReply,
  page: MapPage,
): void {
  const shown = forViewers(thrown)
  const sendPage = (status: number) => {
    reply.headers(framedPolicy([])).header('cache-control', 'no-cache')
    const isSuspended = shown instanceof AppError && shown.code === 'account-suspended'
    const text = (isSuspended ? suspended : sentences[status]) ?? 'This map cannot be shown now.'
    reply.code(status).type(htmlType).send(page.sorry(text))
  }
  const { isPage } = request.routeOptions.config
  respondInForm(shown, request, reply, mapErrorForm(request), isPage ? sendPage : undefined)
}

function forViewers(thrown: Thrown): Thrown {
  if (!(thrown instanceof AppError)) return thrown
  const { kind, code } = thrown
  // A bad request is about the parameters of the viewer.
  const isOfMap = code === 'database' || (kind === 'invalid' && code !== 'bad-request')
  return isOfMap ? errors.mapInvalid('This map cannot be drawn') : thrown
}

const suspended = 'The account of this map is suspended.'
const sentences: Readonly<Record<number, string>> = {
  400: 'This map cannot be drawn.',
  401: 'The key in this address is not valid.',
  403: 'This map is not open to everyone: its address needs a token.',
  404: 'This map does not exist, or was deleted.',
  429: 'Too many people look at the maps of this account. Try again in a moment.',
}
