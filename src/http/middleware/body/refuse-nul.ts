import type { FastifyInstance } from 'fastify'
import { errors } from '../../../errors.ts'

/** Refuses NUL early, as PostgreSQL's texts cannot contain it: no name, statement or value may have one. */
export function refuseNul(app: FastifyInstance): void {
  app.addHook('onRequest', ({ url }, _reply, done) => {
    done(url.includes('%00') ? containsNul() : undefined)
  })
  // After the parsers of all kinds of bodies.
  app.addHook('preHandler', ({ body }, _reply, done) => {
    done(body !== undefined && !isFree(body) && hasNul(body) ? containsNul() : undefined)
  })
}

/** For a JSON body whose text was already checked. Searching the tree takes as long as building it. */
export function noteFreeOfNul(body: unknown): void {
  if (isTree(body)) free.add(body)
}

const free = new WeakSet<object>()
const isFree = (body: unknown) => isTree(body) && free.has(body)

/** For a body that its route reads by itself. */
export function requireNoNul<T>(body: T): T {
  if (hasNul(body)) throw containsNul()
  return body
}

export const containsNul = () => errors.badRequest('The request must not contain NUL characters')

/** Without recursion, as a body may be nested deeper than our stack, and without garbage, as it may have many members. */
function hasNul(body: unknown): boolean {
  const left: object[] = []
  const isBad = (value: unknown) => {
    if (typeof value === 'string') return value.includes('\0')
    if (isTree(value)) left.push(value)
    return false
  }
  if (isBad(body)) return true
  for (let tree = left.pop(); tree !== undefined; tree = left.pop()) {
    if (Array.isArray(tree)) {
      if (tree.some(isBad)) return true
    } else {
      for (const name in tree) if (name.includes('\0') || isBad(tree[name as keyof typeof tree])) return true
    }
  }
  return false
}

/** False for a stream: its reader checks it. */
function isTree(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}
