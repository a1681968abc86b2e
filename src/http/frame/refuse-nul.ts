import type { FastifyInstance } from 'fastify'
import { errors } from '../../errors.ts'

/** PostgreSQL has no NUL in its texts, so there is none in any name, statement or value: refused before anybody reads it. */
export function refuseNul(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ url }) => {
    if (url.includes('%00')) throw containsNul()
  })
  // After the parsers of all kinds of bodies.
  app.addHook('preHandler', async ({ body }) => {
    if (hasNul(body)) throw containsNul()
  })
}

const containsNul = () => errors.badRequest('The request must not contain NUL characters')

/** Without recursion: a body may be nested deeper than our stack. */
function hasNul(body: unknown): boolean {
  const left = [body]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === 'string' && value.includes('\0')) return true
    if (Array.isArray(value)) for (const each of value) left.push(each)
    else if (isPlain(value)) for (const member of Object.entries(value)) left.push(...member)
  }
  return false
}

/** Not a stream: that is for whoever reads it. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
