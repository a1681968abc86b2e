import type { KeyDocument } from '../../src/contract/documents.ts'
import {
  type KnownRight,
  type KnownTable,
  knownRights,
  schemaRightsSql,
  type TableRights,
  tableRightsSql,
} from '../../src/contract/rights-sql.ts'
import type { Credential } from '../api/credential.ts'
import { readRows } from '../api/sql.ts'
import { credentialOf } from './member.ts'

export type { KnownRight, KnownTable }
export type Rights = Readonly<{ tables: readonly KnownTable[]; schemas: readonly string[] }>

/** Reads the rights with the token of the key, and again without a token, to tell own rights from public ones. */
export async function askRights(key: KeyDocument, signal: AbortSignal): Promise<Rights> {
  const { username } = key.user
  const ask = <Row>(statement: string, as: Credential) =>
    readRows<Row>(statement, { signal, as, parameters: { name: username } })
  const [tables, publicTables, schemas] = await Promise.all([
    ask<TableRights>(tableRightsSql, credentialOf(key)),
    ask<TableRights>(tableRightsSql, { kind: 'key', username, token: null }),
    ask<{ name: string }>(schemaRightsSql, credentialOf(key)),
  ])
  return { tables: knownRights(tables, publicTables), schemas: schemas.map(({ name }) => name) }
}
