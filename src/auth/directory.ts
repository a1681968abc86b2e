import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Api } from '../contract/grants.ts'
import { AppError, errors } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { ControlPool } from '../postgres/control/control-pool.ts'
import { isInDoubt } from '../postgres/control/group-commit.ts'
import type { Queryable } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import type { Account, CallerKey, Holder, Principal } from './account.ts'
import {
  accountByName,
  holdersOfToken,
  keyByToken,
  type NamedAccount,
  type Standing,
  standingOf,
} from './account-store.ts'
import { CacheLease, leaseMs } from './cache-lease.ts'
import { KeyUses } from './key-uses.ts'
import { requireStanding, requireStillApi } from './standing.ts'

/** Loads what every process must know before a change is answered. */
export type CatchUp = (control: Queryable) => Promise<void>

/** Looks up accounts and keys for every request: from the cache while its lease is valid, else from the database. */
export class Directory {
  readonly #control: Queryable
  readonly #secrets: Secrets
  readonly #catchUp: CatchUp
  readonly #lease: CacheLease
  readonly #heard = new Map<string, (message: string) => void>()
  readonly #uses: KeyUses
  readonly #accounts = new LRUCache<string, NamedAccount>({ ...atMost(10_000), ttl: longestMs })
  readonly #keys = new LRUCache<string, CallerKey>({ ...atMost(20_000), ttl: longestMs })
  readonly #callers = new LRUCache<string, RememberedCaller>(atMost(20_000))
  readonly #underWay = new Map<string, Promise<unknown>>()
  #epoch = 0

  constructor(control: ControlPool, secrets: Secrets, log: Log, catchUp: CatchUp = async () => undefined) {
    this.#control = withQueryTimeout(control)
    this.#secrets = secrets
    this.#catchUp = catchUp
    this.#uses = new KeyUses(control, log)
    this.#lease = new CacheLease(control, log, {
      forget: () => this.#forget(),
      catchUp,
      others: this.#heard,
    })
  }

  /** Before `start`: passes on what is told to all processes on this channel. */
  hear(channel: string, onMessage: (message: string) => void): void {
    this.#heard.set(channel, onMessage)
  }

  start(): Promise<void> {
    this.#uses.start()
    return this.#lease.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#lease.stop(), this.#uses.stop()])
  }

  /** The user or organization with this name. */
  findAccount(name: string): Promise<NamedAccount | undefined> {
    return this.#cached('account', this.#accounts, name, () => accountByName(this.#control, name))
  }

  /**
   * The key of `account` with this token. No timing leak: the database compares keyed hashes, and the cache's map uses
   * a hash with a random seed of this process.
   */
  findKey(account: Account, token: string): Promise<CallerKey | undefined> {
    const load = () => keyByToken(this.#control, account.userId, this.#secrets.hashToken(token))
    const lifeOf = ({ validUntil }: CallerKey) => validUntil - performance.now()
    return this.#cached('key', this.#keys, `${account.userId}:${token}`, load, lifeOf)
  }

  /** The caller with this token on this user's path, if cached. */
  recall(username: string, token: string): Principal | undefined {
    if (!this.#lease.isValid) return undefined
    const known = this.#callers.get(`${username}:${token}`)
    if (known?.principal.account.username !== username || performance.now() >= known.until) return undefined
    this.#uses.note(known.principal.key.id)
    return known.principal
  }

  /** Cached for as long as both its account and its key are. */
  #remember(principal: Principal, token: string): void {
    const { username, userId } = principal.account
    const leftMs = Math.min(
      this.#accounts.getRemainingTTL(username),
      this.#keys.getRemainingTTL(`${userId}:${token}`),
    )
    this.#callers.set(`${username}:${token}`, { principal, until: performance.now() + leftMs })
  }

  /** The only holder of this token, in one organization or in all. Not for `default_public`, which every user has. */
  async findHolder(token: string, organizationId?: number): Promise<Principal | undefined> {
    const hash = this.#secrets.hashToken(token)
    const { found, epoch } = await this.#once(`holder ${organizationId} ${hash.toString('hex')}`, () =>
      this.#ask(() => holdersOfToken(this.#control, hash, organizationId)),
    )
    return found.length === 1 ? this.principal(found[0]!, epoch) : undefined
  }

  /** Increases with every change of accounts that this process hears of. */
  get epoch(): number {
    return this.#epoch
  }

  /** A caller found since `epoch`. Until something changes, `confirm` needs no query. */
  principal(holder: Holder, epoch: number): Principal {
    this.#noteUse(holder)
    return this.#principal(holder, epoch, false)
  }

  /** The same for a stranger who may act with the key but does not have it, and is not told why the account is suspended. */
  guest(holder: Holder, epoch: number): Principal {
    this.#noteUse(holder)
    return this.#principal(holder, epoch, true)
  }

  /** A key that has expired is not used, but refused. */
  #noteUse({ key }: Holder): void {
    if (performance.now() < key.validUntil) this.#uses.note(key.id)
  }

  #principal(holder: Holder, epoch: number, isGuest: boolean): Principal {
    const { validUntil } = holder.key
    const isCurrent = () => this.#lease.isValid && epoch === this.#epoch && performance.now() < validUntil
    const confirm = async (api?: Api) => {
      if (isCurrent()) return
      const { found } = await this.#standing(holder)
      requireStanding({ key: isGuest ? undefined : holder.key }, found)
      if (api) requireStillApi(found, api)
    }
    return { account: holder.account, key: holder.key, isGuest, isCurrent, confirm }
  }

  /** The same caller with the key as it is now, with another expiry perhaps. Throws if it may no longer use the API. */
  async renew(holder: Holder, api: Api): Promise<Principal> {
    const { found, epoch } = await this.#standing(holder)
    requireStanding(holder, found)
    requireStillApi(found, api)
    return this.#principal({ ...holder, key: found.key! }, epoch, false)
  }

  #standing(holder: Holder): Promise<{ found: Standing; epoch: number }> {
    const question = `still ${holder.key.id} ${holder.account.orgRole} ${holder.key.tokenHash.toString('hex')}`
    return this.#once(question, () => this.#ask(() => standingOf(this.#control, holder)))
  }

  /** The same for a user on its own path. Caches the caller for `recall`. */
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
    lifeOf: (found: V) => number = () => Number.POSITIVE_INFINITY,
  ): Promise<V | undefined> {
    const known = this.#lease.isValid ? cache.get(key) : undefined
    if (known) return known
    return this.#once(`${kind} ${key}`, async () => {
      const { found, epoch } = await this.#ask(load)
      if (!found || epoch !== this.#epoch) return found
      const ttl = Math.min(longestMs, Math.floor(lifeOf(found)))
      if (ttl > 0) cache.set(key, found, { ttl })
      return found
    })
  }

  /**
   * Concurrent lookups of the same thing share one query. Its answer is at most one lease term old, see `#ask`; lookups
   * after a change start a new query.
   */
  #once<V>(question: string, look: () => Promise<V>): Promise<V> {
    const name = `${this.#epoch} ${question}`
    const known = this.#underWay.get(name) as Promise<V> | undefined
    if (known) return known
    const answer = look().finally(() => this.#underWay.delete(name))
    this.#underWay.set(name, answer)
    return answer
  }

  /** Queries the control database; retries if the answer took longer than a lease, or if a change came in between. */
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

/** With `max`, an LRUCache allocates all its slots at once, and writes to all of them whenever it is cleared. */
function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 }
}

/** `until` is by the monotonic clock. */
type RememberedCaller = Readonly<{ principal: Principal; until: number }>

function toUnavailable(error: unknown): unknown {
  return error instanceof AppError || !isInDoubt(error) ? error : errors.databaseUnavailable(error)
}

/** A connection that does not answer in time is dropped; the retry uses another one. */
function withQueryTimeout(control: Pool): Queryable {
  return {
    query: (text, values) => {
      const question = { text, values, query_timeout: leaseMs }
      return control.query(question)
    },
  }
}

/** Bounds staleness if the process that made a change died before it could notify the others. */
const longestMs = 60_000
const maxAttempts = 4
const patienceMs = 3_000
