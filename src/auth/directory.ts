import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { AppError, errors } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { isInDoubt } from '../postgres/control/group-commit.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import type { Account, CallerKey, Holder, Principal } from './account.ts'
import {
  accountByName,
  holdersOfToken,
  isStillKnown,
  keyByToken,
  type NamedAccount,
} from './account-store.ts'
import { CacheLease, leaseMs } from './cache-lease.ts'

/** Learns what every process must know by the time a change is answered. */
export type CatchUp = (control: Queryable) => Promise<void>

/** Looks up accounts and keys for every request: from memory while the lease on it is valid, else from the database. */
export class Directory {
  readonly #control: Queryable
  readonly #secrets: Secrets
  readonly #catchUp: CatchUp
  readonly #lease: CacheLease
  readonly #accounts = new LRUCache<string, NamedAccount>({ ...atMost(10_000), ttl: longestMs })
  readonly #keys = new LRUCache<string, CallerKey>({ ...atMost(20_000), ttl: longestMs })
  readonly #callers = new LRUCache<string, RememberedCaller>(atMost(20_000))
  readonly #underWay = new Map<string, Promise<unknown>>()
  #epoch = 0

  constructor(control: ControlPool, secrets: Secrets, log: Log, catchUp: CatchUp = async () => undefined) {
    this.#control = impatient(control)
    this.#secrets = secrets
    this.#catchUp = catchUp
    this.#lease = new CacheLease(control, log, { forget: () => this.#forget(), catchUp })
  }

  start(): Promise<void> {
    return this.#lease.start()
  }

  stop(): Promise<void> {
    return this.#lease.stop()
  }

  /** The user or organization of that name. */
  findAccount(name: string): Promise<NamedAccount | undefined> {
    return this.#cached('account', this.#accounts, name, () => accountByName(this.#control, name))
  }

  /**
   * The key of `account` whose token it is. The database compares tokens by keyed hash, which leaks nothing by its timing.
   * Nor does the memory: its map finds them by a hash whose seed this process made up.
   */
  findKey(account: Account, token: string): Promise<CallerKey | undefined> {
    return this.#cached('key', this.#keys, `${account.userId}:${token}`, () =>
      keyByToken(this.#control, account.userId, this.#secrets.hashToken(token)),
    )
  }

  /** Who has shown this token on the path of this user, if memory alone can tell. */
  recall(username: string, token: string): Principal | undefined {
    if (!this.#lease.isValid) return undefined
    const known = this.#callers.get(`${username}:${token}`)
    return known && known.principal.account.username === username && performance.now() < known.until
      ? known.principal
      : undefined
  }

  /** For as long as its account and its key are remembered. */
  #remember(principal: Principal, token: string): void {
    const { username, userId } = principal.account
    const leftMs = Math.min(
      this.#accounts.getRemainingTTL(username),
      this.#keys.getRemainingTTL(`${userId}:${token}`),
    )
    this.#callers.set(`${username}:${token}`, { principal, until: performance.now() + leftMs })
  }

  /** Whoever holds this token, in one organization or anywhere. Not for `default_public`, which everybody has. */
  async findHolder(token: string, organizationId?: number): Promise<Principal | undefined> {
    const hash = this.#secrets.hashToken(token)
    const { found, epoch } = await this.#once(`holder ${organizationId} ${hash.toString('hex')}`, () =>
      this.#ask(() => holdersOfToken(this.#control, hash, organizationId)),
    )
    return found.length === 1 ? this.principal(found[0]!, epoch) : undefined
  }

  /** Grows with every change of accounts that this process hears of. */
  get epoch(): number {
    return this.#epoch
  }

  /** A caller who was found since `epoch`. As long as nothing has changed, confirming it asks nobody. */
  principal(holder: Holder, epoch: number): Principal {
    const isCurrent = () => this.#lease.isValid && epoch === this.#epoch
    const confirm = async () => {
      if (isCurrent()) return
      const question = `still ${holder.key.id} ${holder.account.orgRole} ${holder.key.tokenHash.toString('hex')}`
      const { found: isKnown } = await this.#once(question, () =>
        this.#ask(() => isStillKnown(this.#control, holder)),
      )
      if (!isKnown) throw errors.unauthorized()
    }
    return { account: holder.account, key: holder.key, isCurrent, confirm }
  }

  /** The same for a user who showed a token on its own path: the next request with it finds it with `recall`. */
  rememberedPrincipal(holder: Holder, epoch: number, token: string): Principal {
    const principal = this.principal(holder, epoch)
    if (epoch === this.#epoch) this.#remember(principal, token)
    return principal
  }

  async #cached<V extends object>(
    kind: string,
    cache: LRUCache<string, V>,
    key: string,
    load: () => Promise<V | undefined>,
  ): Promise<V | undefined> {
    const known = this.#lease.isValid ? cache.get(key) : undefined
    if (known) return known
    return this.#once(`${kind} ${key}`, async () => {
      const { found, epoch } = await this.#ask(load)
      if (found && epoch === this.#epoch) cache.set(key, found)
      return found
    })
  }

  /**
   * Who asks for what is being looked up waits for the same answer. It is not older than a lease, see `#ask`, and a change
   * that was heard of begins anew.
   */
  #once<V>(question: string, look: () => Promise<V>): Promise<V> {
    const name = `${this.#epoch} ${question}`
    const known = this.#underWay.get(name) as Promise<V> | undefined
    if (known) return known
    const answer = look().finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, answer)
    return answer
  }

  /** Asks the control database; again if the answer took longer than a lease, or if a change came in between. */
  async #ask<V>(load: () => Promise<V>): Promise<{ found: V; epoch: number }> {
    const giveUpAt = performance.now() + patienceMs
    for (let attempt = 1; ; attempt += 1) {
      const epoch = this.#epoch
      const askedAt = performance.now()
      const isLate = () => performance.now() - askedAt >= leaseMs
      const mayRepeat = () => attempt < maxAttempts && performance.now() < giveUpAt
      try {
        if (!this.#lease.isValid) await this.#once('hosts', () => this.#catchUp(this.#control))
        const found = await load()
        if (!isLate() && (epoch === this.#epoch || !mayRepeat())) return { found, epoch }
        if (!mayRepeat()) throw new Error('the answer came too late to be trusted')
      } catch (error) {
        if (!isLate() || !mayRepeat()) throw toUnavailable(error)
      }
    }
  }

  #forget(): void {
    this.#epoch += 1
    this.#accounts.clear()
    this.#keys.clear()
    this.#callers.clear()
  }
}

/** With `max` instead, a cache has that many places from the start, and writes to all of them whenever it is cleared. */
function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 }
}

/** `until`: by the monotonic clock. */
type RememberedCaller = Readonly<{ principal: Principal; until: number }>

function toUnavailable(error: unknown): unknown {
  return error instanceof AppError || !isInDoubt(error) ? error : errors.databaseUnavailable(error)
}

/** A connection that does not answer is dropped, and the next attempt takes another one. */
function impatient(control: Pool): Queryable {
  return {
    query: (text, values) => {
      const question = { text, values, query_timeout: leaseMs }
      return control.query(question)
    },
  }
}

/** An end for the case that the process that made a change died before it could tell, and no notification came. */
const longestMs = 60_000
const maxAttempts = 4
const patienceMs = 3_000
