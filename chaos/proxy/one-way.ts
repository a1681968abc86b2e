import type { Socket } from 'node:net'

/** How bytes are handled. `hold`: kept until they are delivered or dropped; `lose`: dropped. */
export type Manner = 'pass' | 'hold' | 'lose'

/** One direction of a link. Whatever happens to its bytes, those that arrive do so in order. */
export class OneWay {
  manner: Manner = 'pass'
  delayMs = 0
  lastHeardAt = Number.NEGATIVE_INFINITY
  readonly #from: Socket
  readonly #to: Socket
  #held: Buffer[] = []
  readonly #line: { due: number; deliver: () => void }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket) {
    this.#from = from
    this.#to = to
    from.on('data', (bytes) => this.#take(bytes))
    from.on('end', () => this.#pass(() => to.end()))
    to.on('drain', () => from.resume())
  }

  get heldBytes(): number {
    return this.#held.reduce((sum, { length }) => sum + length, 0)
  }

  /** Delivers the held bytes. */
  deliverHeld(): void {
    for (const bytes of this.#held) this.#write(bytes)
    this.#held = []
  }

  #take(bytes: Buffer): void {
    this.lastHeardAt = performance.now()
    if (this.manner === 'hold') this.#held.push(bytes)
    this.#pass(() => this.#write(bytes))
  }

  /** At once, or after the bytes on their way. */
  #pass(deliver: () => void): void {
    if (this.manner !== 'pass') return
    if (this.delayMs === 0 && this.#line.length === 0) deliver()
    else {
      this.#line.push({ due: performance.now() + this.delayMs, deliver })
      this.#timer ??= this.#wake()
    }
  }

  #wake(): NodeJS.Timeout {
    return setTimeout(
      () => {
        this.#timer = undefined
        while (this.#line[0] && this.#line[0].due <= performance.now()) this.#line.shift()!.deliver()
        if (this.#line.length > 0) this.#timer = this.#wake()
      },
      Math.max(0, this.#line[0]!.due - performance.now()),
    )
  }

  #write(bytes: Buffer): void {
    if (!this.#to.writable) return
    if (!this.#to.write(bytes)) this.#from.pause()
  }
}
