import { LRUCache } from 'lru-cache'
import { homeOf, type SessionTarget } from '../postgres/session-target.ts'

/** Cache for types that are not built in: an oid means another type in each database. */
export class TypeCache<Value extends NonNullable<unknown>> {
  readonly #values = new LRUCache<string, Value>({ max: 10_000, ttl: 10 * 60_000 })

  get(target: SessionTarget, oid: number): Value | undefined {
    return this.#values.get(keyOf(target, oid))
  }

  set(target: SessionTarget, oid: number, value: Value): void {
    this.#values.set(keyOf(target, oid), value)
  }
}

const keyOf = (target: SessionTarget, oid: number) => `${homeOf(target)}/${target.database}/${oid}`
