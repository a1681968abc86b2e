import type { Pool } from 'pg'
import type { Log } from '../log/log.ts'
import type { Network } from '../network/network.ts'
import type { Secrets } from '../secrets.ts'
import { cleanInSteps } from '../waiting/clean-in-steps.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  cleanDelivered,
  cleanUndelivered,
  findSubject,
  keepBody,
  writeAttempt,
} from './delivery-store.ts'
import { bodyOf, signedHeaders } from './message.ts'
import { type Message, sendMessage } from './send-message.ts'
import type { Allowed } from './target.ts'
import { cleanJobWebhooks } from './webhook-store.ts'

export type SenderParts = Readonly<{
  control: Pool
  secrets: Secrets
  log: Log
  allowed: Allowed
  network: () => Pick<Network, 'resolve'> | undefined
}>

/**
 * Sends what is in the outbox. An attempt is written before it is made, so a message is sent at least once whatever ends this
 * process; and its outcome is written only by the sender of the last attempt.
 */
export class WebhookSender {
  readonly #parts: SenderParts
  readonly #stopping = new AbortController()
  /** Messages under way, by user. */
  readonly #underWay = new Map<Promise<void>, number>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #sweeping: Promise<void> = Promise.resolve()
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(parts: SenderParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), pollMs)
  }

  /** Messages that are cut short are sent again by another process. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await Promise.allSettled([...this.#underWay.keys(), this.#sweeping])
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#stopping.signal.aborted) return
    this.#isLooking = true
    const { control, log } = this.#parts
    try {
      const room = mostUnderWay - this.#underWay.size
      if (room > 0) {
        const asked = { most: room, perUser: mostOfUser, underWay: this.#countsUnderWay(), leaseSeconds }
        for (const delivery of await claimDeliveries(control, asked)) this.#begin(delivery)
      }
      if (performance.now() - this.#sweptAt > sweepMs) {
        this.#sweptAt = performance.now()
        this.#sweeping = this.#sweeping.then(() => this.#sweep())
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot look for messages to webhooks: trying again')
    } finally {
      this.#isLooking = false
    }
  }

  #countsUnderWay(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>()
    for (const user of this.#underWay.values()) counts.set(user, (counts.get(user) ?? 0) + 1)
    return counts
  }

  /** Old messages, and addresses of jobs that are gone. What fails is tried again in an hour. */
  async #sweep(): Promise<void> {
    const { control, log } = this.#parts
    let last: Awaited<ReturnType<typeof cleanJobWebhooks>>
    const cleanOfJobs = async () => {
      last = await cleanJobWebhooks(control, last)
      return last !== undefined
    }
    for (const cleanSome of [() => cleanDelivered(control), () => cleanUndelivered(control), cleanOfJobs])
      await cleanInSteps(cleanSome, () => this.#stopping.signal.aborted).catch((error: unknown) =>
        log.warn({ err: error }, 'cannot remove old messages to webhooks'),
      )
  }

  #begin(delivery: ClaimedDelivery): void {
    const { log } = this.#parts
    const sent = this.#send(delivery)
      .catch((error: unknown) =>
        log.warn({ err: error, delivery: delivery.id }, 'cannot send a message to a webhook'),
      )
      .finally(() => this.#underWay.delete(sent))
    this.#underWay.set(sent, delivery.userId)
  }

  async #send(delivery: ClaimedDelivery): Promise<void> {
    const { control, allowed, network } = this.#parts
    const message = await this.#makeMessage(delivery).catch(async (error: unknown) => {
      const failure = 'The message cannot be made: the log of the server says why'
      const attempt = { isDelivered: false, answer: null, failure }
      await writeAttempt(control, delivery, attempt, pauseSeconds(delivery.attempts))
      throw error
    })
    if (!message) return
    const attempt = await sendMessage(allowed, message, this.#stopping.signal, network())
    // Not its fault: another process sends it after the lease.
    if (this.#stopping.signal.aborted && !attempt.isDelivered) return
    await writeAttempt(control, delivery, attempt, pauseSeconds(delivery.attempts))
  }

  /** Undefined: another sender has taken it over. */
  async #makeMessage(delivery: ClaimedDelivery): Promise<Message | undefined> {
    const { id, url, sealedSecret, claimedAt } = delivery
    const body = delivery.body ?? (await this.#makeBody(delivery))
    if (body === undefined) return undefined
    const secret = sealedSecret === null ? undefined : this.#parts.secrets.open(sealedSecret)
    const seconds = Math.floor(claimedAt.getTime() / 1000)
    return { url, headers: signedHeaders(id, seconds, body, secret), body }
  }

  async #makeBody(delivery: ClaimedDelivery): Promise<string | undefined> {
    const { control } = this.#parts
    const { subject, userId } = delivery
    const body = bodyOf(delivery, subject === null ? undefined : await findSubject(control, userId, subject))
    return (await keepBody(control, delivery, body)) ? body : undefined
  }
}

/** 5 s, 20 s, 80 s, ... up to 3 hours, a little more or less so that many do not come at once. */
export function pauseSeconds(attempts: number): number {
  const pause = Math.min(5 * 4 ** Math.min(attempts - 1, 10), 3 * 3_600)
  return pause * (0.9 + 0.2 * Math.random())
}

const pollMs = 1_000
const sweepMs = 3_600_000
const mostUnderWay = 32
const mostOfUser = 4
/** Longer than an attempt can last. */
const leaseSeconds = 30
