import type { Random } from './random.ts'

/** How a statement of a plan behaves. Only an `outside` one may end as unknown. */
type Manner = 'plain' | 'slow' | 'slow-commit' | 'failing' | 'outside'

export type PlannedStatement = Readonly<{
  entry: string
  manner: Manner
  text: string
  /** The time limit of the item. */
  timeoutMs?: number
}>

export type PlannedItem = Readonly<{
  statement: PlannedStatement
  onsuccess?: PlannedStatement
  onerror?: PlannedStatement
}>

/** A job that writes an entry to the ledger for each of its applied statements. */
export type Plan = Readonly<{
  /** The idempotency key: repeated requests create one job. */
  key: string
  userIndex: number
  form: 'string' | 'array' | 'object'
  items: readonly PlannedItem[]
  onsuccess?: PlannedStatement
  onerror?: PlannedStatement
  /** How long after its creation it is cancelled. */
  cancelAfterMs?: number
}>

/**
 * `commitsWait`: for a replica. Then many statements take a while, so that some run at any time and commit when it is
 * cut off.
 */
export function planJob(random: Random, users: number, commitsWait: boolean): Plan {
  const manners = commitsWait ? { ...usualManners, plain: 30, slow: 42 } : usualManners
  const key = `${random.hex()}${random.hex()}`
  const form = random.weighted({ string: 3, array: 5, object: 5 })
  const most = random.isLucky(0.1) ? 12 : 5
  const count = form === 'string' ? 1 : 1 + Math.floor(random.next() * most)
  const statement = (place: string) => planStatement(random, manners, `${key}/${place}`)
  const fallback = (place: string, chance: number) => (random.isLucky(chance) ? statement(place) : undefined)
  const fallbacks = (place: string, chance: number) =>
    withoutAbsent({
      onsuccess: fallback(`${place}onsuccess`, chance),
      onerror: fallback(`${place}onerror`, chance),
    })
  const items = Array.from({ length: count }, (_, index) => ({
    statement: form === 'string' ? statement(`${index}`) : limited(random, statement(`${index}`)),
    ...(form === 'object' ? fallbacks(`${index}/`, 0.2) : {}),
  }))
  return withoutAbsent({
    key,
    userIndex: Math.floor(random.next() * users),
    form,
    items,
    ...(form === 'object' ? fallbacks('', 0.3) : {}),
    cancelAfterMs: random.isLucky(0.15) ? random.between(0, 1_500) : undefined,
  }) as Plan
}

/** Some have a short time limit, which may end while their commit waits. */
function limited(random: Random, statement: PlannedStatement): PlannedStatement {
  return random.isLucky(0.15)
    ? { ...statement, timeoutMs: Math.round(random.between(300, 1_500)) }
    : statement
}

/** How often each is chosen. */
type Manners = Readonly<Record<Manner, number>>

const usualManners: Manners = { plain: 60, slow: 12, 'slow-commit': 12, failing: 6, outside: 10 }

function planStatement(random: Random, manners: Manners, entry: string): PlannedStatement {
  const manner = random.weighted(manners)
  return { entry, manner, text: textOf(manner, entry, random) }
}

function textOf(manner: Manner, entry: string, random: Random): string {
  const insert = `insert into ledger (entry) values ('${entry}')`
  switch (manner) {
    case 'plain':
      return insert
    case 'slow':
      return `${insert}; select pg_sleep(${(random.between(0.1, 1) ** 2).toFixed(3)})`
    case 'slow-commit':
      return `insert into slow_ledger (entry) values ('${entry}')`
    case 'failing':
      return `${insert}; select 1/0`
    case 'outside':
      return random.pick([`begin; ${insert}; commit`, `do $$ begin ${insert}; commit; end $$`])
  }
}

/** The body of the request. */
export function requestOf({ form, items, onsuccess, onerror }: Plan): unknown {
  if (form === 'string') return { query: items[0]!.statement.text }
  const bodyOf = ({ text: query, timeoutMs: timeout }: PlannedStatement) => withoutAbsent({ query, timeout })
  if (form === 'array') {
    return { query: items.map(({ statement }) => (statement.timeoutMs ? bodyOf(statement) : statement.text)) }
  }
  const texts = (fallbacks: Partial<PlannedItem>) =>
    withoutAbsent({ onsuccess: fallbacks.onsuccess?.text, onerror: fallbacks.onerror?.text })
  return {
    query: {
      query: items.map((item) => ({ ...bodyOf(item.statement), ...texts(item) })),
      ...texts(withoutAbsent({ onsuccess, onerror })),
    },
  }
}

function withoutAbsent<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
