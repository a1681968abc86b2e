import type { JsonObject } from '../contract/text/json-object.ts'
import type { Session } from '../postgres/session.ts'
import type { Area } from './area.ts'
import type { MapColumnKind } from './columns.ts'

export type DataviewRequest = Area &
  Readonly<{
    ownFilter: boolean
    noFilters: boolean
    start: number | undefined
    end: number | undefined
    bins: number | undefined
    categories: number | undefined
    offset: number | undefined
    aggregation: string | undefined
    /** The text of a search among categories. */
    search: string | undefined
  }>

/** The rows that a dataview is about. `column`: as SQL, of alias t. */
export type DataviewRows = Readonly<{ from: string; column: string; kind: MapColumnKind | undefined }>

const isFloat = (kind: MapColumnKind | undefined) => kind === 'float' || kind === 'numeric'

/** Null where it is no number that one can reckon with. NaN counts as larger than all. */
export const finite = (column: string, kind: MapColumnKind | undefined) =>
  isFloat(kind)
    ? `case when ${column} operator(pg_catalog.<) 'Infinity' and ${column} operator(pg_catalog.>) '-Infinity' then ${column} end`
    : column

/** How many values of each unusual kind there are. `measured`: the column of this kind, if that is another one. */
export function unusualSql(column: string, kind: MapColumnKind | undefined, measured = column): string {
  const count = (condition: string) => `pg_catalog.count(*) filter (where ${condition})`
  const is = (value: string) => `${measured} operator(pg_catalog.=) '${value}'`
  return `${count(`${column} is null`)} as nulls, ${isFloat(kind) ? count(is('NaN')) : '0'} as nans,
    ${isFloat(kind) ? count(`${is('Infinity')} or ${is('-Infinity')}`) : '0'} as infinities`
}

/** One row as JSON, with numbers as numbers. */
export async function askOne(session: Session, sql: string): Promise<JsonObject> {
  return (await askAll(session, sql))[0] ?? {}
}

export async function askAll(session: Session, sql: string): Promise<readonly JsonObject[]> {
  const { rows } = await session.query<{ row: JsonObject }>(
    firstBytes(`select pg_catalog.to_jsonb(o.*) as row from (${sql}) as o`),
  )
  return rows.map(({ row }) => row)
}

/** Of statements with a `row` as JSON: the first rows, up to 4 MB. What a caller computes may have any size. */
export const firstBytes = (sql: string) =>
  `select b.row from (select r.row, pg_catalog.sum(pg_catalog.octet_length(r.row::pg_catalog.text)) over (rows unbounded preceding) as bytes
   from (${sql}) as r) as b where b.bytes operator(pg_catalog.<=) ${maxBytes}`

const maxBytes = 4 * 1024 ** 2
