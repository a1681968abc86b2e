import { quoteLiteral, quoteName, shownName } from '../../contract/text/quote.ts'
import { UsageError } from '../command-error.ts'
import type { Service } from './service.ts'

export type GivenTableName = Readonly<{ schema: string | undefined; name: string }>

/** Reads `My Table`, `schema.My Table` or, as in SQL, `schema."My Table"`. */
export function readTableName(text: string): GivenTableName {
  const parts = text.includes('"') ? partsOfSql(text) : text.split('.')
  const [first = '', second] = parts
  if (parts.length > 2 || parts.length === 0 || parts.includes(''))
    throw new UsageError(`'${text}' is not the name of a table. Quote a name with a dot: '"a.b"'`)
  return second === undefined ? { schema: undefined, name: first } : { schema: first, name: second }
}

/** Empty if it is not a name in SQL. */
function partsOfSql(text: string): readonly string[] {
  const part = '("(?:[^"]|"")+"|[^".]+)'
  const found = new RegExp(`^${part}(?:\\.${part})?$`).exec(text)?.slice(1) ?? []
  return found
    .filter((one) => one !== undefined)
    .map((one) => (one.startsWith('"') ? one.slice(1, -1).replaceAll('""', '"') : one.toLowerCase()))
}

/** The name, quoted for a statement. */
export const tableInSql = ({ schema, name }: GivenTableName) =>
  [...(schema === undefined ? [] : [schema]), name].map(shownName).join('.')

/** The quoted name of an existing table. As in SQL, `Places` is `places` unless a table `Places` exists. */
export async function findTable({ client, signal }: Service, text: string): Promise<string> {
  const { schema, name } = readTableName(text)
  const parts = schema === undefined ? [name] : [schema, name]
  const exact = parts.map(quoteName).join('.')
  const folded = parts.map((part) => quoteName(part.toLowerCase())).join('.')
  const { rows } = await client.sql<{ table: string }>(
    `select coalesce(pg_catalog.to_regclass(${quoteLiteral(exact)}), ${quoteLiteral(folded)}::text::pg_catalog.regclass)::text as "table"`,
    { signal },
  )
  return rows[0]!.table
}

/** The schema of names without one: `public`, or the own schema of a member of an organization. */
export async function usualSchema({ client, signal }: Service): Promise<string> {
  const { rows } = await client.sql<{ schema: string }>('select pg_catalog.current_schema() as schema', {
    signal,
  })
  return rows[0]!.schema
}
