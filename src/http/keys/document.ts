import type { Key } from '../../keys/key.ts'
import type { KeyListing } from '../../keys/list-keys.ts'

/** The key as clients see it: neither its id nor its role. */
export function keyDocument(key: Key, username: string) {
  const { apis, services, hasTableMetadata } = key.scope
  const tables = key.tables.map(({ schema, name, isOwner, permissions }) => ({
    schema,
    name,
    owner: isOwner,
    permissions: [...permissions].sort(),
  }))
  return {
    name: key.name,
    user: { username },
    type: key.type,
    token: key.token,
    grants: [
      { type: 'apis', apis },
      { type: 'database', tables, schemas: key.schemas, ...(hasTableMetadata && { table_metadata: [] }) },
      ...(services.length > 0 ? [{ type: 'dataservices', services }] : []),
    ],
    created_at: timestamp(key.createdAt),
    updated_at: timestamp(key.updatedAt),
  }
}

const timestamp = (date: Date) => `${date.toISOString().slice(0, 19).replace('T', ' ')} +0000`

export type Page = Readonly<{
  keys: readonly Key[]
  total: number
  listing: KeyListing
  username: string
  /** The address of the list, and the parameters it was asked for with. */
  address: string
  query: Readonly<Record<string, unknown>>
}>

export function listDocument({ keys, total, listing, username, address, query }: Page) {
  const { page, perPage } = listing
  const last = Math.max(1, Math.ceil(total / perPage))
  const to = (number: number) => ({ href: `${address}?${pageParameters(query, number, perPage)}` })
  const target =
    typeof query.target_user === 'string' ? `?${new URLSearchParams({ target_user: query.target_user })}` : ''
  return {
    total,
    count: keys.length,
    result: keys.map((key) => ({
      ...keyDocument(key, username),
      _links: { self: `${address}/${encodeURIComponent(key.name)}${target}` },
    })),
    _links: {
      first: to(1),
      last: to(last),
      ...(page > 1 && { prev: to(Math.min(page - 1, last)) }),
      ...(page < last && { next: to(page + 1) }),
    },
  }
}

/** The request's own parameters, but never a credential. */
function pageParameters(
  query: Readonly<Record<string, unknown>>,
  page: number,
  perPage: number,
): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (['api_key', 'map_key', 'page', 'per_page'].includes(name)) continue
    for (const each of [value].flat()) parameters.append(name, String(each))
  }
  parameters.append('page', String(page))
  parameters.append('per_page', String(perPage))
  return parameters
}
