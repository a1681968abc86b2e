import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readCredential } from '../../../auth/credential.ts'
import { identify } from '../../../auth/identify.ts'
import { AppError, errors } from '../../../errors.ts'
import type { Services } from '../../services.ts'
import { UndrainedRequest } from '../../undrained-request.ts'
import { clientAddress, networkOf } from '../credential/client-address.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Messages of sessions count too. */
    bodyBudget: BodyBudget
  }
}

/**
 * Limits the memory of request bodies, from their headers until the answer. A body counts with its announced length, or
 * without one with what has arrived. A caller over its share is refused before its body is read. Streams are not held
 * in memory, and small bodies are not counted.
 */
export function limitBodies(app: FastifyInstance, services: Services): void {
  const budget = new BodyBudget(services.config.bodyMemoryBytes)
  app.decorate('bodyBudget', budget)
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const announced = announcedBytes(request)
    if (announced <= uncountedBytes || request.routeOptions.config?.isStreaming) return done()
    holderOf(services, request)
      .then((holder) => hold(budget, holder, request, reply, announced))
      .then(() => done(), done)
  })
}

/** Without a length it may be of any size. */
function announcedBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

/** The account, if a valid key comes before the body; else the network address. */
async function holderOf({ directory }: Services, request: FastifyRequest): Promise<BodyHolder> {
  const stranger = { name: networkOf(clientAddress(request)), isStranger: true }
  const { name } = request.params as { name?: string }
  const query = request.query as Readonly<Record<string, unknown>>
  const credential = readCredential({ authorization: request.headers.authorization, query })
  if (name === undefined || credential.kind !== 'token') return stranger
  try {
    const identification = await identify(directory, name, credential)
    if (identification.outcome !== 'known' || identification.principal.key.type === 'default') return stranger
    return { name: `user ${identification.principal.account.userId}`, isStranger: false }
  } catch (error) {
    // The route itself reports an unknown or suspended account.
    if (
      error instanceof AppError &&
      ['user-unknown', 'account-suspended', 'account-moving'].includes(error.code)
    )
      return stranger
    throw error
  }
}

function hold(
  budget: BodyBudget,
  holder: BodyHolder,
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  announced: number,
): void {
  // Longer than its route allows: refused by its length alone.
  if (Number.isFinite(announced) && announced > routeOptions.bodyLimit) return
  let held = 0
  const take = (bytes: number) => {
    if (!budget.take(holder, bytes)) return false
    held += bytes
    return true
  }
  if (Number.isFinite(announced)) {
    if (!take(announced)) throw errors.bodiesExhausted()
  } else if (raw instanceof UndrainedRequest) {
    raw.onBody = (bytes) => {
      if (take(bytes) || reply.sent) return
      reply.raw.once('finish', () => raw.destroy())
      reply.header('Connection', 'close').send(errors.bodiesExhausted())
    }
    raw.onBody(raw.readableLength)
  }
  reply.raw.once('close', () => budget.give(holder, held))
}

/** An account; for callers without a key, an address. */
export type BodyHolder = Readonly<{ name: string; isStranger: boolean }>

/**
 * Each holder may hold as much as is left free, anonymous callers a quarter of that: so none can take all, and a new
 * holder finds room. Anonymous callers together get a quarter.
 */
export class BodyBudget {
  readonly #total: number
  readonly #held = new Map<string, number>()
  #all = 0
  #strangers = 0

  constructor(total: number) {
    this.#total = total
  }

  take({ name, isStranger }: BodyHolder, bytes: number): boolean {
    const own = (this.#held.get(name) ?? 0) + bytes
    const free = this.#total - this.#all - bytes
    if (own > (isStranger ? free / 4 : free)) return false
    if (isStranger && this.#strangers + bytes > this.#total / 4) return false
    this.#count(name, isStranger, bytes)
    return true
  }

  give({ name, isStranger }: BodyHolder, bytes: number): void {
    this.#count(name, isStranger, -bytes)
  }

  #count(name: string, isStranger: boolean, bytes: number): void {
    const own = (this.#held.get(name) ?? 0) + bytes
    if (own > 0) this.#held.set(name, own)
    else this.#held.delete(name)
    this.#all += bytes
    if (isStranger) this.#strangers += bytes
  }
}

/** The maximum size of request headers. */
export const uncountedBytes = 16 * 1024
