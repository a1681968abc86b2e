import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
import { type RateBucket, type RateVerdict, takeRequest } from '../../accounts/rate-limit-store.ts'
import type { Account, Principal } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import { rateOf } from '../../config/account-limits.ts'
import type { Rate } from '../../config/config-variables.ts'
import type { EndpointGroup } from '../../contract/admin-names.ts'
import { type AppError, errors } from '../../errors.ts'
import { usageCounts } from '../../usage/usage-counts.ts'
import type { Services } from '../services.ts'
import { identifyCaller, recallCaller, tokenHolder } from './authenticate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The limit that the requests of this route share. */
    rateGroup?: EndpointGroup
  }
}

/** Every route of an account must have a limit: one without a group stops the start. */
export function requireRateGroups(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.rateGroup) throw new Error(`${method} ${url} has no rate group`)
  })
}

/**
 * Limits the requests of a user per group of endpoints, and separately those of its callers without a key. The count is
 * in the control database, so that the limit and the headers are the same in every process. Only an allowed request
 * costs a statement there: a user over the limit is refused from memory until the time is over, so a flood does not
 * reach the database.
 */
export function limitRates(app: FastifyInstance, services: Services): void {
  const refused = refusalsOf(services)
  app.addHook('onRoute', (route) => {
    const group = route.config?.rateGroup
    if (!group) return
    // A hook of the route itself: looking up the route of each request takes 1 % of a short query.
    const limit: preHandlerHookHandler = (request, reply, done) => {
      if (isUnlimited(services, request, group)) return done()
      limitRate(services, refused, request, reply, group).then(() => done(), done)
    }
    route.preHandler = [limit, ...[route.preHandler ?? []].flat()]
  })
}

/** Counts a statement of a session like a request to the SQL endpoint, and a load of an upload like one to copyfrom. */
export async function limitStatement(
  services: Services,
  { account, key }: Principal,
  group: 'sql' | 'copyfrom' = 'sql',
): Promise<void> {
  const rate = rateOf(services.config, account.setLimits, group)
  if (!rate) return
  const bucket = key.type === 'default' ? (`${group} without a key` as const) : group
  const verdict = await checkRate(services, refusalsOf(services), account, bucket, rate)
  if (!verdict.isAllowed) throw refusal(services, account, group, bucket, verdict)
}

function refusal(
  { metrics, databases }: Services,
  { userId }: Account,
  group: EndpointGroup,
  bucket: RateBucket,
  { retrySeconds }: RateVerdict,
): AppError {
  metrics.rateLimited(group)
  usageCounts(databases).addRefusal(userId, `rates.${bucket}`)
  return errors.rateLimited(Math.max(1, Math.ceil(retrySeconds)))
}

/** Most callers are cached and have no limit: they need not wait. */
function isUnlimited(services: Services, request: FastifyRequest, group: EndpointGroup): boolean {
  const known = isOfAccount(request) ? recallCaller(services, request) : undefined
  const caller = known && countedCaller(known)
  return caller !== undefined && rateOf(services.config, caller.account.setLimits, group) === null
}

async function limitRate(
  services: Services,
  refused: Refusals,
  request: FastifyRequest,
  reply: FastifyReply,
  group: EndpointGroup,
): Promise<void> {
  // A request that will be refused for its credential is not counted.
  const caller = await callerOf(services, request)
  const rate = caller && rateOf(services.config, caller.account.setLimits, group)
  if (!rate) return
  const bucket = caller.isStranger ? (`${group} without a key` as const) : group
  const verdict = await checkRate(services, refused, caller.account, bucket, rate)
  setLimitHeaders(reply, rate, verdict)
  if (!verdict.isAllowed) throw refusal(services, caller.account, group, bucket, verdict)
}

/** By the monotonic clock. */
type Refusals = LRUCache<string, Readonly<{ retryAt: number; resetAt: number }>>

/** One for all routes of a process. */
function refusalsOf({ directory }: Services): Refusals {
  const known = refusals.get(directory) ?? new LRUCache({ max: 10_000 })
  refusals.set(directory, known)
  return known
}

const refusals = new WeakMap<object, Refusals>()

type CountedCaller = Readonly<{ account: Account; isStranger: boolean }>

async function callerOf(services: Services, request: FastifyRequest): Promise<CountedCaller | undefined> {
  if (!isOfAccount(request)) {
    const { account } = await tokenHolder(services, request)
    return { account, isStranger: false }
  }
  return countedCaller(await identifyCaller(services, request))
}

const isOfAccount = ({ params }: FastifyRequest) => (params as { name?: string }).name !== undefined

function countedCaller(identification: Identification): CountedCaller | undefined {
  if (identification.outcome === 'anonymous') return { account: identification.account, isStranger: true }
  if (identification.outcome !== 'known') return undefined
  const { account, key } = identification.principal
  return { account, isStranger: key.type === 'default' }
}

async function checkRate(
  { databases, log }: Services,
  refused: Refusals,
  account: Account,
  bucket: RateBucket,
  rate: Rate,
): Promise<RateVerdict> {
  const key = `${account.userId} ${bucket} ${rate.count}/${rate.seconds}+${rate.burst}`
  const now = performance.now()
  const known = refused.get(key)
  if (known && known.retryAt > now) {
    const seconds = (at: number) => (at - now) / 1000
    return { isAllowed: false, retrySeconds: seconds(known.retryAt), resetSeconds: seconds(known.resetAt) }
  }
  try {
    const verdict = await takeRequest(databases.control, account.userId, bucket, rate)
    if (!verdict.isAllowed) {
      refused.set(key, {
        retryAt: now + verdict.retrySeconds * 1000,
        resetAt: now + verdict.resetSeconds * 1000,
      })
    }
    return verdict
  } catch (error) {
    // Better to serve too much for a while than nothing.
    log.warn({ err: error }, 'cannot count a request against its rate limit: request allowed')
    return { isAllowed: true, retrySeconds: 0, resetSeconds: 0 }
  }
}

function setLimitHeaders(reply: FastifyReply, rate: Rate, { isAllowed, resetSeconds }: RateVerdict): void {
  // The time is rounded to microseconds, so the result can be slightly above the intended whole number.
  const spent = Math.ceil((resetSeconds * rate.count) / rate.seconds - 0.01)
  reply.header('Carto-Rate-Limit-Limit', rate.burst)
  reply.header('Carto-Rate-Limit-Remaining', isAllowed ? Math.max(0, rate.burst - spent) : 0)
  reply.header('Carto-Rate-Limit-Reset', Math.ceil(resetSeconds))
}
