import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import { type LayerSql, wholeWorld } from './layer-sql.ts'

/** What a click on a feature shows. */
export type Attributes = Readonly<{ id: string; columns: readonly string[] }>

export function readAttributes(raw: unknown): Attributes | null {
  if (raw === undefined || raw === null) return null
  const { id, columns } = isJsonObject(raw) ? raw : ({} as JsonObject)
  if (typeof id !== 'string' || !Array.isArray(columns) || !columns.every((name) => typeof name === 'string'))
    throw errors.mapInvalid('attributes needs an id and columns')
  return { id, columns }
}

/** The one row with this id. Leaves the transaction open. */
export async function readFeature(
  session: Session,
  sql: LayerSql,
  { id, columns }: Attributes,
  fid: string,
): Promise<JsonObject> {
  const list = columns.map((name) => `t.${quoteName(name)}`).join(', ')
  await session.query('begin isolation level repeatable read read only')
  const { rows } = await session.query<{ row: JsonObject | null }>(
    `select case when pg_catalog.octet_length(f.row::pg_catalog.text) operator(pg_catalog.<=) ${maxBytes} then f.row end as row from (
       select distinct pg_catalog.to_jsonb(s.*) as row from (
         select ${list} from ${sql(wholeWorld)} as t where t.${quoteName(id)} operator(pg_catalog.=) $1) as s limit 2) as f`,
    [fid],
  )
  const [first] = rows
  if (rows.length > 1) throw errors.mapInvalid(`Multiple features identified by '${id}' = ${fid}`)
  if (!first) throw errors.notFound(`Feature '${fid}'`)
  if (!first.row) throw errors.mapInvalid('The attributes of the feature are larger than 1 MB')
  return first.row
}

const maxBytes = 1024 ** 2
