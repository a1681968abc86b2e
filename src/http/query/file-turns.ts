import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { type GiveBack, Slots } from '../../postgres/pools/slots.ts'
import type { ClientWait } from '../../statements/time-limits.ts'

/** Called when the file is on the disk, where it stays until the turn is over. */
export type FileWritten = (bytes: number) => void

/**
 * Turns to write a file and to send it: two at a time in a process and one for each account; other callers wait. A turn that
 * has its file on the disk lets the next one begin while its client reads, as long as such files are few bytes: of all
 * accounts at most `mostBytes`, of one account half of them.
 */
export class FileTurns {
  readonly #slots = new Slots({ total: 2, perRole: 1, perAccount: 1, anonymousPerAccount: 1 })
  readonly #mostBytes: number
  readonly #bytes = new Map<string, number>()

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  async take<T>(
    { account: { username } }: Principal,
    gone: AbortLike,
    work: (written: FileWritten) => Promise<T>,
  ): Promise<T> {
    const holder = { account: username, role: username }
    const leave = await this.#slots.take(holder, waitMs, () => errors.tooManyCopies(60), gone)
    let forget: GiveBack | undefined
    const written = (bytes: number) => {
      forget = this.#keep(username, bytes)
      if (forget) leave()
    }
    try {
      return await work(written)
    } finally {
      forget?.()
      leave()
    }
  }

  /** Undefined if there are too many bytes. */
  #keep(username: string, fileBytes: number): GiveBack | undefined {
    const bytes = Math.max(fileBytes, leastBytes)
    const own = this.#bytes.get(username) ?? 0
    const all = [...this.#bytes.values()].reduce((sum, more) => sum + more, 0)
    if (all + bytes > this.#mostBytes || own + bytes > this.#mostBytes / 2) return undefined
    this.#bytes.set(username, own + bytes)
    return () => {
      const rest = this.#bytes.get(username)! - bytes
      if (rest === 0) this.#bytes.delete(username)
      else this.#bytes.set(username, rest)
    }
  }
}

/** Ends also a client that always reads something, but not the whole file in time. */
export function waitWithin(wait: ClientWait, wholeMs: number): ClientWait {
  let timer: NodeJS.Timeout | undefined
  return {
    begin: (onTooLong) => {
      clearTimeout(timer)
      timer = setTimeout(onTooLong, wholeMs, wholeMs)
      wait.begin(onTooLong)
    },
    end: () => {
      clearTimeout(timer)
      wait.end()
    },
  }
}

const waitMs = 10 * 60_000

/** What a file counts at least: it is also an open file and a connection. */
const leastBytes = 1024 ** 2
