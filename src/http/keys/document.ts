import type { FullKeyDocument, KeyDocument, KeyList } from '../../contract/documents.ts'
import type { Key, WantedKeys } from '../../keys/key.ts'
import { pageLinks } from '../middleware/page.ts'
import type { Parameters } from '../middleware/parameters.ts'

/** The key as clients see it: without id and role. In a list it has a link to `self`. */
export function keyDocument(key: Key, username: string): KeyDocument {
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
      { type: 'database', tables, schemas: key.schemas, table_metadata: hasTableMetadata ? [] : undefined },
      ...(services.length > 0 ? [{ type: 'dataservices' as const, services }] : []),
    ],
    created_at: timestamp(key.createdAt),
    updated_at: timestamp(key.updatedAt),
  }
}

/** The key as it is shown at the addresses of version 4. */
export function fullKeyDocument(key: Key, username: string): FullKeyDocument {
  return {
    ...keyDocument(key, username),
    description: key.description,
    created_at: isoTime(key.createdAt),
    updated_at: isoTime(key.updatedAt),
    expires_at: key.expiresAt && isoTime(key.expiresAt),
    read_from: key.readFrom,
    last_used_at: key.lastUsedAt && isoTime(key.lastUsedAt),
    invited_until: key.invitedUntil && isoTime(key.invitedUntil),
  }
}

const isoTime = (time: string) => new Date(time).toISOString()

/** Most servers run in UTC, and a page has forty timestamps: these need no date calculation. */
function timestamp(time: string): string {
  const text = time.endsWith('+00:00') ? time : new Date(time).toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 19)} +0000`
}

export type KeyPage = Readonly<{
  keys: readonly Key[]
  total: number
  listing: WantedKeys
  username: string
  /** The address of the list, and its query parameters. */
  address: string
  query: Parameters
}>

export function listDocument({ keys, total, listing, username, address, query }: KeyPage): KeyList {
  const target =
    typeof query.target_user === 'string' ? `?${new URLSearchParams({ target_user: query.target_user })}` : ''
  return {
    total,
    count: keys.length,
    result: keys.map((key) => ({
      ...keyDocument(key, username),
      _links: { self: `${address}/${encodeURIComponent(key.name)}${target}` },
    })),
    _links: pageLinks(address, query, listing, total),
  }
}
