import { type SortOrder, sortOrders } from '../../contract/formats.ts'
import { defaultPerPage, maxPerPage } from '../../contract/limits.ts'
import { choiceOf, type Parameters, wholeOf } from './parameters.ts'

/** One page of a list. */
export type Page<Order extends string> = Readonly<{
  /** From 1. */
  page: number
  perPage: number
  order: Order
  direction: SortOrder
}>

type Defaults<Order extends string> = Readonly<{
  orders: readonly Order[]
  order: Order
  direction: SortOrder
}>

/** Reads `page`, `per_page`, `order` and `order_direction`; refuses bad values. */
export function readPage<Order extends string>(
  query: Parameters,
  { orders, order, direction }: Defaults<Order>,
): Page<Order> {
  return {
    page: wholeOf(query, 'page', 1, Number.MAX_SAFE_INTEGER) ?? 1,
    perPage: wholeOf(query, 'per_page', 1, maxPerPage) ?? defaultPerPage,
    order: choiceOf(query, 'order', orders) ?? order,
    direction: choiceOf(query, 'order_direction', sortOrders) ?? direction,
  }
}

/** Links to the other pages of the list at `address`. */
export function pageLinks(
  address: string,
  query: Parameters,
  { page, perPage }: Pick<Page<string>, 'page' | 'perPage'>,
  total: number,
) {
  const last = Math.max(1, Math.ceil(total / perPage))
  const to = (number: number) => ({ href: `${address}?${pageParameters(query, number, perPage)}` })
  return {
    first: to(1),
    last: to(last),
    ...(page > 1 && { prev: to(Math.min(page - 1, last)) }),
    ...(page < last && { next: to(page + 1) }),
  }
}

/** The request's own parameters, but never a credential. */
function pageParameters(query: Parameters, page: number, perPage: number): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (['api_key', 'map_key', 'page', 'per_page'].includes(name)) continue
    for (const each of [value].flat()) parameters.append(name, String(each))
  }
  parameters.append('page', String(page))
  parameters.append('per_page', String(perPage))
  return parameters
}
