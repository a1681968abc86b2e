import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { noteRefusal } from '../frame/authenticate.ts'
import type { Services } from '../services.ts'

/** Only the operator's own token opens the admin API. */
export function requireAdmin(services: Services, request: FastifyRequest): void {
  const { adminToken } = services
  if (!adminToken) throw errors.adminOff()
  const offered = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (timingSafeEqual(sha256(offered), sha256(adminToken))) return
  if (request.headers.authorization) noteRefusal(services, request, '/admin', 'wrong-credential')
  throw errors.unauthorized('Send the admin token as "Authorization: Bearer <token>"')
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()
