import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Log } from '../log.ts'
import type { Secrets } from '../secrets.ts'
import type { Account, CallerKey, Principal } from './account.ts'
import { accountByName, keyByToken, type NamedAccount, principalsByToken } from './account-store.ts'
import { type CatchUp, ChangeFeed } from './change-feed.ts'

/** Looks up accounts and keys for every request: from memory while the change feed vouches for it, else from the database. */
export class Directory {
  readonly #control: Pool
  readonly #secrets: Secrets
  readonly #feed: ChangeFeed
  readonly #accounts = new LRUCache<string, NamedAccount>({ max: 10_000 })
  readonly #keys = new LRUCache<string, CallerKey>({ max: 20_000 })
  #epoch = 0

  /** `catchUp` learns what every process must know by the time a change is answered. */
  constructor(control: Pool, secrets: Secrets, log: Log, catchUp: CatchUp = async () => undefined) {
    this.#control = control
    this.#secrets = secrets
    this.#feed = new ChangeFeed(control, log, () => this.#clear(), catchUp)
  }

  start(): Promise<void> {
    return this.#feed.start()
  }

  stop(): void {
    this.#feed.stop()
  }

  /** The user or organization of that name. */
  findAccount(name: string): Promise<NamedAccount | undefined> {
    return this.#cached(this.#accounts, name, () => accountByName(this.#control, name))
  }

  /** The key of `account` whose token it is. Tokens are compared by keyed hash, which leaks nothing by its timing. */
  findKey(account: Account, token: string): Promise<CallerKey | undefined> {
    const hash = this.#secrets.hashToken(token)
    return this.#cached(this.#keys, `${account.userId}:${hash.toString('latin1')}`, () =>
      keyByToken(this.#control, account.userId, hash),
    )
  }

  /** Whoever holds this token, in one organization or anywhere. Not for `default_public`, which everybody has. */
  async findHolder(token: string, organizationId?: number): Promise<Principal | undefined> {
    const holders = await principalsByToken(this.#control, this.#secrets.hashToken(token), organizationId)
    return holders.length === 1 ? holders[0] : undefined
  }

  async #cached<V extends object>(
    cache: LRUCache<string, V>,
    key: string,
    load: () => Promise<V | undefined>,
  ): Promise<V | undefined> {
    const known = this.#feed.isTrusted ? cache.get(key) : undefined
    if (known) return known
    const epoch = this.#epoch
    const found = await load()
    if (found && this.#feed.isTrusted && epoch === this.#epoch) cache.set(key, found)
    return found
  }

  #clear(): void {
    this.#epoch += 1
    this.#accounts.clear()
    this.#keys.clear()
  }
}
