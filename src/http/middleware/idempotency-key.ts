import type { FastifyRequest } from 'fastify'
import { noteArrival } from '../../accounts/arrived-request-store.ts'
import type { Principal } from '../../auth/account.ts'
import { maxIdempotencyKeyLength } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { Services } from '../services.ts'

export function readIdempotencyKey({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && printable.test(key)) return key
  throw errors.badRequest(
    `Idempotency-Key must be 1 to ${maxIdempotencyKeyLength} printable ASCII characters`,
  )
}

const printable = new RegExp(`^[\\x20-\\x7e]{1,${maxIdempotencyKeyLength}}$`)

/**
 * Refuses a request whose key was used before: the outcome of the first is not stored, so it is not run again. Call
 * last before the work begins. Keys of anonymous callers are ignored: they could fill the control database.
 */
export async function refuseRepeated(
  { databases }: Pick<Services, 'databases'>,
  request: FastifyRequest,
  { key }: Principal,
): Promise<void> {
  const idempotencyKey = readIdempotencyKey(request)
  if (idempotencyKey === undefined || key.type === 'default') return
  const isFirst = await noteArrival(databases.control, key.id, idempotencyKey)
  if (!isFirst) throw errors.requestRepeated()
}
