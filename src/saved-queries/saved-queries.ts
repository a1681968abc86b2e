import { LRUCache } from 'lru-cache'
import type { Account, Principal } from '../auth/account.ts'
import { isQueryName, maxSavedQueries, queryNameRule } from '../contract/saved-queries.ts'
import { AppError, errors } from '../errors.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { answerQuery, type Queries } from '../query/answer-query.ts'
import type { Query } from '../query/query.ts'
import { namesInQuery, type QueryNames } from '../sql/query-names.ts'
import { runAs } from '../statements/run-as.ts'
import { lookUpVersion } from '../tiles/query-version.ts'
import { hashOf } from '../tiles/tile-layer.ts'
import { type GivenValue, hasMovingTime, statementOf, valuesOf } from './parameter-values.ts'
import { readDefinition, type SavedDefinition } from './read-definition.ts'
import { deleteQuery, findQuery, listQueries, type SavedQuery, saveQuery } from './saved-query-store.ts'

/** What is sent to PostgreSQL, and the names in it. */
type Prepared = Readonly<{ sql: string; names: QueryNames | undefined }>

/** How the rows are wanted. */
export type RowsOptions = Omit<Query, 'sql' | 'params'>

/** Queries that callers run by name, each as the key of its request. One for each process. */
export class SavedQueries {
  readonly #queries: Queries
  /** By role and revision: the last version of the rows. */
  readonly #versions = new LRUCache<string, string>({
    maxSize: 8 * 1024 ** 2,
    maxEntrySize: 64 * 1024,
    sizeCalculation: (version) => version.length + 100,
  })
  /** By revision, as a text may take 20 ms to parse. */
  readonly #prepared = new LRUCache<string, Prepared>({
    maxSize: 8 * 1024 ** 2,
    sizeCalculation: ({ sql }) => 2 * sql.length + 100,
  })

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** PostgreSQL plans it first, with the defaults as values: what cannot run is refused. */
  async save(
    principal: Principal,
    name: string,
    { body, text }: Readonly<{ body: unknown; text: string | undefined }>,
    gone: AbortLike,
  ): Promise<Readonly<{ query: SavedQuery; isNew: boolean }>> {
    if (!isQueryName(name)) throw errors.queryInvalid(`The name of a query must have ${queryNameRule}`)
    const definition = readDefinition(body, text)
    await this.#plan(principal, definition, gone)
    const saved = await saveQuery(this.#control, principal.account, name, definition)
    if ('query' in saved) return saved
    throw errors.tooManyQueries(saved.beyond === 'count' ? String(maxSavedQueries) : '4 MB of')
  }

  async read({ account }: Principal, name: string): Promise<SavedQuery> {
    return found(account, name, isQueryName(name) && (await findQuery(this.#control, account, name)))
  }

  /** The queries that the caller may try to run. */
  list({ account, key }: Principal): Promise<readonly SavedQuery[]> {
    return listQueries(this.#control, account, key.type === 'default')
  }

  async delete({ account }: Principal, name: string): Promise<void> {
    found(account, name, isQueryName(name) && (await deleteQuery(this.#control, account, name)))
  }

  /** Callers without a key find public ones only. */
  async open(principal: Principal, name: string): Promise<SavedQuery> {
    const query = await this.read(principal, name)
    return found(principal.account, name, (query.isPublic || principal.key.type !== 'default') && query)
  }

  /** A request to the SQL endpoint that gives its rows. */
  statement(saved: SavedQuery, given: ReadonlyMap<string, GivenValue>, options: RowsOptions): Query {
    return { ...options, sql: this.#prepare(saved).sql, params: valuesOf(saved.params, given) }
  }

  #prepare({ revision, sql, params }: SavedQuery): Prepared {
    const known = this.#prepared.get(revision)
    if (known) return known
    const made = {
      sql: statementOf(sql, params, 'places'),
      names: namesInQuery(statementOf(sql, params, 'nulls')),
    }
    this.#prepared.set(revision, made)
    return made
  }

  /**
   * Stays the same while the answer does; undefined if changes cannot be detected. Looked up before the rows are read:
   * an answer is never older than its tag.
   */
  async tag(
    principal: Principal,
    saved: SavedQuery,
    query: Query,
    gone: AbortLike,
  ): Promise<string | undefined> {
    const { names } = this.#prepare(saved)
    if (!names || hasMovingTime(saved.params, query.params ?? [])) return undefined
    const key = `${principal.account.userId} ${principal.key.role} ${saved.revision}`
    const options = { kind: 'query', limits: this.#queries.limitsOf(principal), gone } as const
    const { version } = await runAs(this.#queries.databases, principal, options, (run) =>
      run.watch((session) => lookUpVersion(session, names, this.#versions.get(key) ?? null)),
    )
    if (version === null) return undefined
    this.#versions.set(key, version)
    const { skippedFields, ...asked } = query
    return hashOf([key, version, asked, [...skippedFields]])
  }

  async #plan(principal: Principal, { sql, params }: SavedDefinition, gone: AbortLike): Promise<void> {
    const given = new Map<string, GivenValue>()
    for (const [name, { default: value = null }] of Object.entries(params))
      given.set(name, { json: JSON.stringify(value) })
    const query: Query = {
      sql: `explain ${statementOf(sql, params, 'places')}`,
      params: valuesOf(params, given),
      format: 'json',
      paging: undefined,
      skippedFields: new Set(),
      decimals: 0,
      filename: undefined,
    }
    const open = () => {
      throw errors.queryInvalid('The plan of the query is too long')
    }
    try {
      await answerQuery(this.#queries, principal, query, { gone, open })
    } catch (error) {
      throw inQuery(error, Object.keys(params))
    }
  }

  get #control() {
    return this.#queries.databases.control
  }
}

function found<T>({ username }: Account, name: string, query: T | undefined | false): T {
  if (query) return query
  throw errors.queryNotFound(name.slice(0, 128), username)
}

/** PostgreSQL counts in the text that it was sent, which the caller does not know, and numbers the parameters. */
export function inQuery(error: unknown, names: readonly string[]): unknown {
  if (!(error instanceof AppError)) return error
  const { position: _position, context, ...extras } = error.extras
  const named = context?.replace(/parameter \$(\d+)/g, (whole, number: string) => {
    const name = names[Number(number) - 1]
    return name === undefined ? whole : `parameter :${name}`
  })
  return new AppError(error.code, error.kind, error.message, { ...extras, context: named, cause: error })
}
