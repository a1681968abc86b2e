import type { DatabaseGrant, Grant, KeyDocument } from '../../src/contract/documents.ts'
import { createKey, listAllKeys } from './keys.ts'
import type { TableId } from './tables.ts'

/** A key that can only read this table. Code that the table runs has no other rights. */
export async function narrowKeyFor(table: TableId): Promise<KeyDocument> {
  const known = (await listAllKeys()).find(({ name }) => name === narrowKeyName(table))
  if (!known) return createKey({ name: narrowKeyName(table), grants: grantsFor(table) })
  if (!readsOnly(known, table))
    throw new Error(`The key “${known.name}” has other rights than reading this table. Delete it first`)
  return known
}

export const narrowKeyName = ({ schema, name }: TableId) => `reads only ${schema}.${name}`

const grantsFor = ({ schema, name }: TableId): readonly Grant[] => [
  { type: 'apis', apis: ['sql'] },
  { type: 'database', tables: [{ schema, name, permissions: ['select'] }] },
]

function readsOnly({ grants }: KeyDocument, { schema, name }: TableId): boolean {
  const { tables = [], schemas = [] } =
    grants.find((grant): grant is DatabaseGrant => grant.type === 'database') ?? {}
  const [table, ...others] = tables
  const isThis = table?.schema === schema && table.name === name && table.permissions.join() === 'select'
  return isThis && others.length === 0 && schemas.length === 0
}
