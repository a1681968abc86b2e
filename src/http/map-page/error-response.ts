import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, errors } from '../../errors.ts'
import { respondInForm, type Thrown } from '../middleware/error-response.ts'
import { mapErrorBody } from '../tiles/error-response.ts'

/** Errors for those who look at a map. They are told nothing of its SQL and its tables. */
export function respondToViewer(thrown: Thrown, request: FastifyRequest, reply: FastifyReply): void {
  respondInForm(forViewers(thrown), request, reply, mapErrorBody)
}

export function forViewers(thrown: Thrown): Thrown {
  const isOfMap = thrown instanceof AppError && (thrown.code === 'map-invalid' || thrown.code === 'database')
  return isOfMap ? errors.mapInvalid('This map cannot be drawn') : thrown
}
