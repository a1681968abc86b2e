import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AppError, errors } from '../../errors.ts'
import { clientWait } from '../middleware/download/client-wait.ts'

/** Ends a request whose client stands still. */
export class Stall {
  reason: AppError | undefined
  readonly #request: FastifyRequest
  readonly #wait: ReturnType<typeof clientWait>
  #body: Readable

  constructor(request: FastifyRequest, reply: FastifyReply, idleMs: number) {
    this.#request = request
    this.#body = request.raw
    this.#wait = clientWait(reply.raw, idleMs)
    this.#begin()
  }

  watch(body: Readable): Readable {
    this.#body = body
    return body
  }

  async paused<T>(work: () => Promise<T>): Promise<T> {
    this.#wait.end()
    try {
      return await work()
    } finally {
      this.#begin()
    }
  }

  end(): void {
    this.#wait.end()
  }

  #begin(): void {
    this.#wait.begin((idleMs) => {
      this.reason = errors.clientIdle(idleMs)
      this.#body.destroy(this.reason)
      if (this.#body !== this.#request.raw) this.#request.raw.unpipe()
    })
  }
}
