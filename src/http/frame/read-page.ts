import { errors } from '../../errors.ts'

export type Page<Order extends string> = Readonly<{
  orderBy: Order
  direction: 'asc' | 'desc'
  page: number
  limit: number
  offset: number
}>

type Defaults<Order extends string> = Readonly<{
  orders: readonly Order[]
  order: Order
  direction: 'asc' | 'desc'
}>

/** Reads `page` (from 1), `per_page`, `order` and `order_direction`; a bad value of any is refused. */
export function readPage<Order extends string>(
  query: Readonly<Record<string, unknown>>,
  { orders, order, direction }: Defaults<Order>,
): Page<Order> {
  const page = wholeOf(query, 'page', 1_000_000) ?? 1
  const limit = wholeOf(query, 'per_page', 1000) ?? 20
  return {
    orderBy: choiceOf(query, 'order', orders) ?? order,
    direction: choiceOf(query, 'order_direction', ['asc', 'desc']) ?? direction,
    page,
    limit,
    offset: (page - 1) * limit,
  }
}

function wholeOf(query: Readonly<Record<string, unknown>>, name: string, max: number): number | undefined {
  const value = query[name]
  if (value === undefined || value === '') return undefined
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : 0
  if (number >= 1 && number <= max) return number
  throw errors.badRequest(`Invalid ${name}: it must be a whole number from 1 to ${max}`)
}

function choiceOf<T extends string>(
  query: Readonly<Record<string, unknown>>,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = query[name]
  if (value === undefined || value === '') return undefined
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw errors.badRequest(`Wrong '${name}' parameter value. Valid values are ${choices.join(', ')}`)
}
