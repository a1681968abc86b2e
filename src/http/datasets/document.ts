import type { Account } from '../../auth/account.ts'
import type { TableInfo } from '../../tables/list-tables.ts'
import type { Page } from '../frame/read-page.ts'

/**
 * A table as a "visualization" of type table. Clients sort by `updated_at`: of a table whose changes nobody notes, all
 * that is known is that it is not older than its account.
 */
export function tableDocument(table: TableInfo, account: Account, base: string) {
  const privacy = table.isPublic ? 'PUBLIC' : 'PRIVATE'
  const updatedAt = (table.updatedAt ?? account.createdAt).toISOString()
  return {
    id: table.name,
    name: table.name,
    display_name: table.name,
    type: 'table',
    kind: 'geom',
    privacy,
    updated_at: updatedAt,
    title: null,
    description: null,
    tags: [],
    locked: false,
    url: `${base}/api/v1/viz/${encodeURIComponent(table.name)}`,
    table: {
      id: table.name,
      name: table.name,
      schema: table.schema,
      privacy,
      updated_at: updatedAt,
      size: table.bytes,
      row_count: Math.round(table.estimatedRows),
    },
  }
}

export function datasetDocument(table: TableInfo) {
  return {
    table_schema: table.schema,
    name: table.name,
    type: table.kind,
    mode: table.isWritable ? 'rw' : 'r',
    cartodbfied: table.isPrepared,
    shared: false,
    privacy: table.isPublic ? 'public' : 'private',
    updated_at: table.updatedAt?.toISOString() ?? null,
  }
}

/** Links to the other pages, with the request's own parameters but without its credential. */
export function pageLinks(
  url: string,
  query: Readonly<Record<string, unknown>>,
  { page, limit }: Page<string>,
  total: number,
) {
  const last = Math.max(1, Math.ceil(total / limit))
  const link = (number: number) => {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (!credentials.includes(name) && typeof value === 'string') parameters.set(name, value)
    }
    parameters.set('page', String(number))
    parameters.set('per_page', String(limit))
    return { href: `${url}?${parameters}` }
  }
  return {
    first: link(1),
    last: link(last),
    ...(page > 1 ? { prev: link(page - 1) } : {}),
    ...(page < last ? { next: link(page + 1) } : {}),
  }
}

const credentials = ['api_key', 'map_key']
