import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { isFinal } from '../../contract/job-status.ts'
import { errors } from '../../errors.ts'
import type { Followed, JobState } from '../../jobs/follow/job-followers.ts'
import { fullJobDocument } from '../../jobs/shown/job-document.ts'
import { remembered } from '../../remembered.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import { hijacked } from '../middleware/download/raw-answer.ts'
import type { Services } from '../services.ts'
import { readJobId } from './request.ts'

/** Sends the document of a job at each change, as server-sent events, until the job has ended. */
export function following(services: Services) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const caller = await jobsCaller(services, request)
    const id = readJobId(request)
    const lastId = request.headers['last-event-id']
    const stream = new EventStream(caller, typeof lastId === 'string' ? lastId : undefined)
    const followed = await services.jobFollowers.follow(caller.account, id, stream)
    if (!followed) throw errors.jobNotFound(id)
    // An EventSource that already has the end reconnects for ever, unless it gets 204.
    if (isFinal(followed.state.job.status) && eventOf(followed.state).id === lastId) {
      followed.leave()
      return reply.code(204).send()
    }
    // Checked right before the first write: many may have come while this one was let in.
    if (followed.accountWaitingBytes() > mostWaitingBytes) {
      followed.leave()
      throw errors.tooManyFollowers('64 MB of job events wait to be read')
    }
    stream.begin(hijacked(reply, headers), request.raw.socket, followed)
    return reply
  }
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies such as nginx would keep events back.
  'x-accel-buffering': 'no',
}

type Event = Readonly<{ id: string; text: string; isLast: boolean }>

/** Made once for all followers of a job. */
const eventOf = remembered((state: JobState): Event => {
  const { job, place, progress, revision } = state
  const document = JSON.stringify(fullJobDocument(job, place, progress))
  const id = `${revision}-${createHash('sha256').update(document).digest('base64url').slice(0, 12)}`
  return { id, text: `id: ${id}\ndata: ${document}\n\n`, isLast: isFinal(job.status) }
})

/** The answer to one follower. A slow reader gets the newest document, not all of them. */
class EventStream {
  readonly #caller: Principal
  /** The id of the last event that the client has. */
  #lastId: string | undefined
  #response: ServerResponse | undefined
  #socket: Socket | undefined
  #leave: () => void = () => undefined
  #accountWaitingBytes: () => number = () => 0
  #next: JobState | undefined
  #isBlocked = false
  #blockedSince = 0
  #timer: NodeJS.Timeout | undefined
  #ticks = 0
  /** No more is sent. The follower counts until the client has read all, or is gone. */
  #isEnding = false

  constructor(caller: Principal, lastId: string | undefined) {
    this.#caller = caller
    this.#lastId = lastId
  }

  readonly onState = (state: JobState | undefined): void => {
    if (!state) this.#end()
    else {
      this.#next = state
      this.#send()
    }
  }

  readonly waitingBytes = (): number => this.#response?.writableLength ?? 0

  begin(response: ServerResponse, socket: Socket, followed: Followed): void {
    const { state, leave, accountWaitingBytes } = followed
    this.#response = response
    this.#socket = socket
    this.#leave = leave
    this.#accountWaitingBytes = accountWaitingBytes
    response.on('drain', () => {
      this.#isBlocked = false
      this.#send()
    })
    for (const event of ['finish', 'close', 'error']) response.on(event, () => this.#release())
    this.#timer = setInterval(() => void this.#tick(), tickMs)
    response.write(`retry: ${reconnectMs}\n\n`)
    if (this.#isEnding) response.end()
    this.#next ??= state
    this.#send()
  }

  #send(): void {
    const state = this.#next
    if (!state || !this.#response || this.#isBlocked || this.#isEnding) return
    const event = eventOf(state)
    if (!this.#hasRoomFor(event)) return
    this.#next = undefined
    if (event.id === this.#lastId) return
    this.#lastId = event.id
    this.#write(event.text)
    if (event.isLast) this.#end()
  }

  /** While followers of the account that do not read have too much, the others wait; the next tick asks again. */
  #hasRoomFor({ text }: Event): boolean {
    return text.length < shortEvent || this.#accountWaitingBytes() <= mostWaitingBytes
  }

  #write(text: string): void {
    this.#isBlocked = !this.#response!.write(text)
    this.#blockedSince = performance.now()
  }

  /** The key may have been revoked, and a connection may be dead without being closed. */
  async #tick(): Promise<void> {
    this.#ticks += 1
    if ((this.#isBlocked || this.#isEnding) && performance.now() - this.#blockedSince > longestBlockMs)
      this.#socket?.destroy()
    // The client may have gone before the stream began.
    if (this.#socket?.destroyed) this.#release()
    if (this.#isEnding || !this.#response) return
    this.#send()
    if (!this.#caller.isCurrent()) await this.#caller.confirm().catch(() => this.#end())
    if (this.#ticks % ticksPerComment === 0 && this.#response && !this.#isBlocked && !this.#isEnding)
      this.#write(':\n\n')
  }

  #end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    if (!this.#isBlocked) this.#blockedSince = performance.now()
    this.#response?.end()
  }

  #release(): void {
    clearInterval(this.#timer)
    this.#leave()
    this.#response = undefined
  }
}

const tickMs = 1_000
const ticksPerComment = 15
const reconnectMs = 1_000
const longestBlockMs = 30_000
const mostWaitingBytes = 64 * 1024 ** 2
/** Short events never wait: one for each follower of an account is within the limit. */
const shortEvent = 64 * 1024
