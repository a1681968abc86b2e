import type { KeyDocument } from '../../src/client/documents.ts'
import { type Right, schemaRightsSql, type TableRights, tableRightsSql } from '../../src/client/rights-sql.ts'
import type { Credential } from '../api/credential.ts'
import { readRows } from '../api/sql.ts'
import { credentialOf } from './member.ts'
import { type Permission, permissions } from './wanted-key.ts'

/** Whence a right comes: from the key itself, or because everybody has it. */
export type Source = 'own' | 'public'
export type KnownRight = Readonly<{ right: Exclude<Right, 'none'>; source: Source }>
export type KnownTable = Pick<TableRights, 'schema' | 'name' | 'kind' | 'isOwner'> &
  Readonly<{ rights: Readonly<Partial<Record<Permission, KnownRight>>> }>
export type Rights = Readonly<{ tables: readonly KnownTable[]; schemas: readonly string[] }>

/** Asked from the database with the key's own token, and once more as nobody: the same statement, the real roles. */
export async function askRights(key: KeyDocument, signal: AbortSignal): Promise<Rights> {
  const { username } = key.user
  const ask = <Row>(statement: string, as: Credential) =>
    readRows<Row>(statement, { signal, as, parameters: { name: username } })
  const [tables, publicTables, schemas] = await Promise.all([
    ask<TableRights>(tableRightsSql, credentialOf(key)),
    ask<TableRights>(tableRightsSql, { kind: 'key', username, token: null }),
    ask<{ name: string }>(schemaRightsSql, credentialOf(key)),
  ])
  const publicly = new Map(publicTables.map((table) => [nameOf(table), table]))
  return {
    tables: tables.map((table) => withSources(table, publicly.get(nameOf(table)))),
    schemas: schemas.map(({ name }) => name),
  }
}

const nameOf = ({ schema, name }: TableRights) => JSON.stringify([schema, name])

function withSources(table: TableRights, publicly: TableRights | undefined): KnownTable {
  const { schema, name, kind, isOwner } = table
  const rights: Partial<Record<Permission, KnownRight>> = {}
  for (const permission of permissions) {
    const right = table[permission]
    if (right === 'none') continue
    rights[permission] = { right, source: publicly?.[permission] === right ? 'public' : 'own' }
  }
  return { schema, name, kind, isOwner, rights }
}
