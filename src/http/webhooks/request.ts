import type { FastifyRequest } from 'fastify'
import { isJsonObject, unknownMember } from '../../contract/text/json-object.ts'
import {
  deliveryStatuses,
  maxDeliveriesPerPage,
  maxNotify,
  notifyEvents,
  webhookEvents,
} from '../../contract/webhooks.ts'
import { errors } from '../../errors.ts'
import type { WantedDeliveries } from '../../webhooks/delivery-store.ts'
import { isSecret } from '../../webhooks/message.ts'
import { type Allowed, readTarget } from '../../webhooks/target.ts'
import type { WantedWebhook } from '../../webhooks/webhooks.ts'
import { choiceOf, isUuid, type Parameters, textOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'

/** Reads a webhook of an account. */
export function readWebhook(allowed: Allowed, body: unknown): WantedWebhook {
  if (!isJsonObject(body)) throw errors.webhookInvalid('The body must be an object with url')
  refuseUnknown(body, ['url', 'on', 'secret', 'include_sql', 'enabled', ...ignored], 'A webhook')
  return {
    ...readShared(allowed, body, ''),
    events: readEvents(body.on, webhookEvents, 'on'),
    isEnabled: readFlag(body.enabled, true, 'enabled'),
  }
}

/** So that a document that was read can be sent again, and what old clients add. */
const ignored = ['id', 'created_at', 'api_key', 'client']

/** Reads `notify` of a job. `kept`: addresses that stay, whether webhooks may still reach them or not. */
export function readNotify(
  allowed: Allowed,
  value: unknown,
  kept: readonly string[] = [],
): readonly WantedWebhook[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > maxNotify)
    throw errors.webhookInvalid(`notify must be an array of at most ${maxNotify} objects`)
  return value.map((each, index) => {
    const place = `notify[${index}]`
    if (!isJsonObject(each)) throw errors.webhookInvalid(`${place} must be an object with url`)
    refuseUnknown(each, ['url', 'on', 'secret', 'include_sql'], place)
    const events = readEvents(each.on, notifyEvents, `${place}.on`).map((event) => `job.${event}` as const)
    return { ...readShared(allowed, each, `${place}.`, kept), events, isEnabled: true }
  })
}

/**
 * The same of a schedule, which may keep the addresses that it has. All its addresses are told when it is disabled.
 */
export function readScheduleNotify(
  allowed: Allowed,
  body: unknown,
  kept: readonly string[],
): readonly WantedWebhook[] {
  const wanted = readNotify(allowed, (body as { notify?: unknown }).notify, kept)
  const urls = wanted.map(({ url }) => url)
  const twice = urls.find((url, place) => urls.indexOf(url) !== place)
  if (twice !== undefined) throw errors.webhookInvalid(`notify has ${twice} twice`)
  return wanted.map((each) => ({ ...each, events: [...each.events, 'schedule.disabled'] }))
}

function readShared(allowed: Allowed, members: Parameters, prefix: string, kept: readonly string[] = []) {
  const { url, secret } = members
  if (secret !== undefined && (typeof secret !== 'string' || !isSecret(secret)))
    throw errors.webhookInvalid(`${prefix}secret must be whsec_ and base64 of 24 to 64 bytes`)
  return {
    url: keptTarget(kept, url) ?? readTarget(allowed, url),
    secret,
    includeSql: readFlag(members.include_sql, false, `${prefix}include_sql`),
  }
}

/** The sender checks each address again. */
const keptTarget = (kept: readonly string[], text: unknown) =>
  typeof text === 'string' && URL.canParse(text) ? kept.find((url) => url === new URL(text).href) : undefined

function readEvents<T extends string>(value: unknown, known: readonly T[], place: string): readonly T[] {
  if (value === undefined) return known
  const isKnown = (each: unknown): each is T => known.some((event) => event === each)
  if (Array.isArray(value) && value.length > 0 && value.every(isKnown)) return [...new Set<T>(value)]
  throw errors.webhookInvalid(`${place} must be an array of ${known.join(', ')}`)
}

function readFlag(value: unknown, fallback: boolean, place: string): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw errors.webhookInvalid(`${place} must be true or false`)
}

function refuseUnknown(members: Parameters, known: readonly string[], what: string): void {
  const unknown = unknownMember(members, known)
  if (unknown !== undefined) throw errors.webhookInvalid(`${what} has no member '${unknown.slice(0, 100)}'`)
}

export function readWebhookId({ params }: FastifyRequest): string {
  const { webhookId } = params as { webhookId: string }
  if (!isUuid(webhookId)) throw errors.webhookNotFound()
  return webhookId.toLowerCase()
}

export function readDeliveryId({ params }: FastifyRequest): string {
  const { deliveryId } = params as { deliveryId: string }
  if (!isUuid(deliveryId)) throw errors.deliveryNotFound()
  return deliveryId.toLowerCase()
}

export function readWantedDeliveries(request: FastifyRequest): WantedDeliveries {
  const query = withoutEmpty(request.query as Parameters)
  const after = textOf(query, 'after')
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw errors.badRequest('Invalid after: it must be the value of next of an earlier page')
  return {
    status: choiceOf(query, 'status', deliveryStatuses),
    perPage: wholeOf(query, 'per_page', 1, maxDeliveriesPerPage) ?? maxDeliveriesPerPage,
    after,
  }
}
