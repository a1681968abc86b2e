import type { WebSocket } from '@fastify/websocket'
import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Credential } from '../../auth/credential.ts'
import { closeCodes, type OpenedFrame, openWithinMs } from '../../contract/session-frames.ts'
import { errors } from '../../errors.ts'
import type { OpenSession } from '../../sessions/open-session.ts'
import { sessionCaller } from '../middleware/authenticate.ts'
import { type BodyBudget, uncountedBytes } from '../middleware/body/body-budget.ts'
import { errorMembers } from '../middleware/error-response.ts'
import { limitStatement } from '../middleware/rate-limit.ts'
import type { Services } from '../services.ts'
import { MessageMeter } from './message-meter.ts'
import { BadMessage, type ReadMessage, readMessage } from './read-message.ts'
import { SocketPeer } from './socket-peer.ts'

/** Serves one WebSocket: waits for the token, then passes messages on to the session. */
export class SessionSocket {
  readonly #services: Services
  readonly #socket: WebSocket
  readonly #request: FastifyRequest
  readonly #peer: SocketPeer
  readonly #meter: MessageMeter
  readonly #late: NodeJS.Timeout
  #session: OpenSession | null = null
  #isClosed = false
  /** Messages are read in their order. */
  #read: Promise<void> = Promise.resolve()

  constructor(services: Services, budget: BodyBudget, socket: WebSocket, request: FastifyRequest) {
    const { sessionPingMs: pingMs, copyIdleMs: stallMs } = services.config
    this.#services = services
    this.#socket = socket
    this.#request = request
    this.#meter = new MessageMeter(budget)
    this.#peer = new SocketPeer(socket, { pingMs, stallMs, onDead: () => this.#leave('client') })
    this.#late = setTimeout(() => this.#refuse(errors.clientTooSlow(tooLate)), openWithinMs)
    const { socket: tcp } = request.raw
    tcp.on('data', this.#onBytes)
    socket.on('message', (data, isBinary) => this.#onMessage(data as Buffer, isBinary))
    socket.on('close', () => {
      tcp.off('data', this.#onBytes)
      this.#meter.take()()
      this.#leave('closed')
    })
  }

  /** The rest of a message that is too large is not read. */
  readonly #onBytes = (bytes: Buffer): void => {
    if (this.#isClosed || this.#meter.accepts(bytes.length)) return
    this.#socket.pause()
    if (this.#session) this.#session.lose('client', errors.bodiesExhausted().message)
    else this.#refuse(errors.bodyTooLarge(uncountedBytes))
    this.#isClosed = true
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    const giveBack = this.#meter.take()
    this.#peer.noteLife()
    if (this.#isClosed) {
      giveBack()
      return
    }
    this.#read = this.#read
      .then(() => (isBinary ? this.#refuseBinary() : this.#take(data, giveBack)))
      .catch((error: unknown) => this.#reject(error))
  }

  /** Does not wait for the answer to a query: a cancel may follow. */
  async #take(data: Buffer, giveBack: () => void): Promise<void> {
    const message = await readMessage(data).catch((error: unknown) => {
      giveBack()
      throw error
    })
    if (this.#isClosed) return giveBack()
    if (!this.#session || message.type === 'open') return this.#open(message).finally(giveBack)
    if (message.type === 'cancel') {
      giveBack()
      this.#session.cancel(message.id)
    } else void this.#session.query(message.query).finally(giveBack)
  }

  async #open(message: ReadMessage): Promise<void> {
    if (this.#session) throw new BadMessage(errors.badRequest('The session is open already'))
    if (message.type !== 'open') {
      this.#refuse(errors.badRequest('The first message must be of type open, with the token'))
      return
    }
    clearTimeout(this.#late)
    try {
      const principal = await this.#identify(message.credential)
      if (this.#isClosed) return
      this.#begin(principal)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Nothing is read meanwhile: what a stranger sends would wait in memory. */
  async #identify(credential: Credential): Promise<Principal> {
    this.#socket.pause()
    try {
      return await sessionCaller(this.#services, this.#request, credential)
    } finally {
      this.#socket.resume()
    }
  }

  #begin(principal: Principal): void {
    const { sessions } = this.#services
    this.#session = sessions.open(principal, {
      peer: this.#peer,
      describe: (error) => errorMembers(error, this.#request.log),
      countStatement: (caller) => limitStatement(this.#services, caller),
    })
    const { account, key } = principal
    this.#meter.open({ name: `user ${account.userId}`, isStranger: key.type === 'default' })
    const opened: OpenedFrame = {
      type: 'opened',
      username: account.username,
      request_id: this.#request.id,
      limits: sessions.limitsOf(principal),
    }
    this.#peer.send(JSON.stringify(opened), false)
  }

  #refuseBinary(): never {
    throw new BadMessage(errors.badRequest('A message must be text: binary ones are not accepted'))
  }

  /** A bad message of an open session is answered, and the session goes on. */
  #reject(thrown: unknown): void {
    const { cause, id } = thrown instanceof BadMessage ? thrown : { cause: thrown, id: undefined }
    if (this.#session) this.#session.refuse(cause, id)
    else this.#refuse(cause)
  }

  #refuse(error: unknown): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#late)
    const members = errorMembers(error, this.#request.log)
    this.#peer.send(JSON.stringify({ type: 'error', ...members }), false)
    this.#peer.close(closeCodes.refused)
  }

  #leave(reason: 'closed' | 'client'): void {
    this.#isClosed = true
    clearTimeout(this.#late)
    this.#session?.leave(reason)
  }
}

const tooLate = `The first message, with the token, did not arrive within ${openWithinMs / 1000} seconds`
