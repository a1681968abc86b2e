import { quoteLiteral } from '../contract/text/quote.ts'
import type { Session } from '../postgres/session.ts'
import type { WireRow } from '../postgres/wire/collected-rows.ts'
import type { QueryNames } from '../sql/query-names.ts'
import { hashOf } from './tile-layer.ts'

/** Differs after each change to the rows of a query. Null: changes cannot be detected. */
export type QueryVersion = Readonly<{ version: string | null; is_moved: boolean | null }>

export const unknownVersion: QueryVersion = { version: null, is_moved: null }

/** On a session on which no code of a tenant has run. `known`: what an earlier look-up found. */
export async function lookUpVersion(
  session: Session,
  names: QueryNames | undefined,
  known: string | null,
): Promise<QueryVersion> {
  if (!names) return unknownVersion
  const { relations, optional, functions, operators, members } = names
  const lists = [relations, optional, functions, operators, members].map(arrayText)
  return readVersion(await session.lookFast('query version', preparedSql, [...lists, known]))
}

/** As PostgreSQL reads an array of texts. */
const arrayText = (list: readonly string[]) =>
  `{${list.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** The answer to `versionSql`. */
export function readVersion([row]: readonly WireRow[]): QueryVersion {
  if (!row) return unknownVersion
  const [version = null, isMoved] = row.map((value) => value?.toString() ?? null)
  return { version, is_moved: isMoved === 't' }
}

const preparedSql = 'select v.version, v.is_moved from cartodb._CDB_QueryVersion($1, $2, $3, $4, $5, $6) as v'

/** Asks for it in the snapshot of a tile, after its rows were read. */
export function versionSql(names: QueryNames, known: string | null): string {
  const { relations, optional, functions, operators, members } = names
  const lists = [relations, optional, functions, operators, members].map(
    (list) => `array[${list.map(quoteLiteral).join(', ')}]::pg_catalog.text[]`,
  )
  const last = known === null ? 'null' : quoteLiteral(known)
  return `select v.version, v.is_moved from cartodb._CDB_QueryVersion(${lists.join(', ')}, ${last}) as v`
}

/** The version of several queries together. */
export const versionOfAll = (versions: readonly QueryVersion[]) =>
  versions.length === 0 || versions.some(({ version }) => version === null)
    ? null
    : hashOf(versions.map(({ version }) => version))
