import type { DatabaseGrant, Grant, KeyDocument } from '../../src/contract/documents.ts'
import { plural } from './format.ts'

export function TypeBadge({ type }: Pick<KeyDocument, 'type'>) {
  const kind = { master: 'warning', default: 'info', regular: '' }[type]
  return <span class={`badge ${kind}`}>{type}</span>
}

/** The rights of a key in one line. */
export function summaryOf({ type, grants }: Pick<KeyDocument, 'type' | 'grants'>): string {
  if (type === 'master') return 'all rights, manages keys and jobs'
  if (type === 'default') return 'reads public tables'
  const { tables = [], schemas = [], table_metadata } = databaseGrantOf(grants) ?? {}
  const readable = tables.filter(({ permissions }) => permissions.includes('select'))
  const writable = tables.filter(({ permissions }) => permissions.some((each) => each !== 'select'))
  const names = grants.flatMap((grant) => (grant.type === 'apis' ? grant.apis : []))
  return [
    names.length === 0 ? 'no API' : names.join(', '),
    tables.length > 0 &&
      `reads ${readable.length === 0 ? 'no table' : plural(readable.length, 'table')}, writes ${writable.length || 'none'}`,
    schemas.length > 0 && `creates tables in ${schemas.map(({ name }) => name).join(', ')}`,
    table_metadata && 'lists tables',
    grants.flatMap((grant) => (grant.type === 'dataservices' ? grant.services : [])).join(', '),
  ]
    .filter(Boolean)
    .join(' · ')
}

export const databaseGrantOf = (grants: readonly Grant[]) =>
  grants.find((grant): grant is DatabaseGrant => grant.type === 'database')
