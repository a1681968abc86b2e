import { quoteLiteral, quoteName } from '../../api/sql.ts'
import { oidOf, quotedTable, type Table, type TableColumn, type TableId } from '../../api/tables.ts'

/** The column as a form wants it. `fallback` and `using` are SQL expressions. */
export type WantedColumn = Readonly<{
  name: string
  type: string
  isNullable: boolean
  fallback: string
  comment: string
  using: string
}>

/** Types that a form offers, with names that find them whatever else has these names. */
const qualifiedTypes: ReadonlyMap<string, string> = new Map([
  ['text', 'pg_catalog.text'],
  ['integer', 'pg_catalog.int4'],
  ['bigint', 'pg_catalog.int8'],
  ['numeric', 'pg_catalog.numeric'],
  ['double precision', 'pg_catalog.float8'],
  ['boolean', 'pg_catalog.bool'],
  ['date', 'pg_catalog.date'],
  ['timestamp with time zone', 'pg_catalog.timestamptz'],
  ['jsonb', 'pg_catalog.jsonb'],
  ['uuid', 'pg_catalog.uuid'],
  ['geometry(Geometry, 4326)', 'postgis.geometry(Geometry, 4326)'],
])
export const offeredTypes = [...qualifiedTypes.keys()]

/** Another type is used as it was written. */
const sqlType = (type: string) => qualifiedTypes.get(type.trim()) ?? type.trim()

const alter = (table: TableId) => `ALTER TABLE ${quotedTable(table)}`
const columnOf = (table: TableId, name: string) => `${quotedTable(table)}.${quoteName(name)}`
const commentOn = (what: string, comment: string) =>
  `COMMENT ON ${what} IS ${comment.trim() === '' ? 'NULL' : quoteLiteral(comment)}`

export function addColumn(
  table: TableId,
  { name, type, isNullable, fallback, comment }: WantedColumn,
): string {
  const rules = `${fallback.trim() && ` DEFAULT ${fallback.trim()}`}${isNullable ? '' : ' NOT NULL'}`
  return [
    `${alter(table)} ADD COLUMN ${quoteName(name)} ${sqlType(type)}${rules}`,
    ...(comment.trim() ? [commentOn(`COLUMN ${columnOf(table, name)}`, comment)] : []),
  ].join(';\n')
}

/** The usual conversion of old values to another type. */
export const usualCast = (column: string, type: string) => `${quoteName(column)}::${sqlType(type)}`

/** Statements for what differs; empty if nothing does. */
export function changeColumn(table: TableId, column: TableColumn, wanted: WantedColumn): string {
  const one = `${alter(table)} ALTER COLUMN ${quoteName(column.name)}`
  const fallback = wanted.fallback.trim()
  const using = wanted.using.trim() || usualCast(column.name, wanted.type)
  const statements = [
    wanted.type.trim() !== column.type && `${one} TYPE ${sqlType(wanted.type)} USING ${using}`,
    fallback !== (column.fallback ?? '') && `${one} ${fallback ? `SET DEFAULT ${fallback}` : 'DROP DEFAULT'}`,
    wanted.isNullable !== column.isNullable && `${one} ${wanted.isNullable ? 'DROP' : 'SET'} NOT NULL`,
    wanted.comment !== (column.comment ?? '') &&
      commentOn(`COLUMN ${columnOf(table, column.name)}`, wanted.comment),
    wanted.name !== column.name &&
      `${alter(table)} RENAME COLUMN ${quoteName(column.name)} TO ${quoteName(wanted.name)}`,
  ]
  return statements.filter(Boolean).join(';\n')
}

const cascade = (isCascading: boolean) => (isCascading ? ' CASCADE' : '')

export const dropColumn = (table: TableId, column: string, isCascading: boolean) =>
  `${alter(table)} DROP COLUMN ${quoteName(column)}${cascade(isCascading)}`

export type WantedIndex = Readonly<{ columns: readonly string[]; method: string; isUnique: boolean }>

export const indexMethods = ['btree', 'gist', 'gin', 'brin', 'hash'] as const

/** The method that fits the type of a column. */
export function methodFor(type: string): (typeof indexMethods)[number] {
  if (/^(geometry|geography)\b/.test(type)) return 'gist'
  return type === 'jsonb' || type.endsWith('[]') ? 'gin' : 'btree'
}

export const createIndex = (table: TableId, { columns, method, isUnique }: WantedIndex) =>
  `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ON ${quotedTable(table)} USING ${method} (${columns.map(quoteName).join(', ')})`

/** An index has the schema of its table. */
export const dropIndex = ({ schema }: TableId, name: string) => `DROP INDEX ${quotedTable({ schema, name })}`
export const dropConstraint = (table: TableId, name: string) =>
  `${alter(table)} DROP CONSTRAINT ${quoteName(name)}`

const kindOf = ({ kind }: Table) => kind.toUpperCase()

export const renameTable = (table: Table, name: string) =>
  `ALTER ${kindOf(table)} ${quotedTable(table)} RENAME TO ${quoteName(name)}`
export const commentOnTable = (table: Table, comment: string) =>
  commentOn(`${kindOf(table)} ${quotedTable(table)}`, comment)
export const dropTable = (table: Table, isCascading: boolean) =>
  `DROP ${kindOf(table)} ${quotedTable(table)}${cascade(isCascading)}`

/** An object that is lost with a table or column. `isHolding`: it prevents that without CASCADE. */
export type Dependent = Readonly<{ what: string; isHolding: boolean }>

export const mostDependents = 100

const catalogOid = (name: string) => `'pg_catalog.${name}'::pg_catalog.regclass::pg_catalog.oid`

/** A view depends on a table by its rule. */
const ofRule = `cross join lateral (
    select case when p.classid = ${catalogOid('pg_rewrite')} then ${catalogOid('pg_class')} else p.classid end as classid,
      case when p.classid = ${catalogOid('pg_rewrite')} then (select r.ev_class from pg_catalog.pg_rewrite r where r.oid = p.objid)
        else p.objid end as objid) o`

/** What depends on a table or one of its columns, also indirectly. Parts of the table itself are left out. */
export function dependentsSql(table: TableId, column?: string): string {
  const id = oidOf(table)
  const direct =
    column === undefined
      ? `p.deptype = 'n' and (p.refclassid = ${catalogOid('pg_class')} and p.refobjid = ${id}
      or p.refclassid = ${catalogOid('pg_type')} and p.refobjid in (select t.oid from pg_catalog.pg_type t where t.typrelid = ${id}))`
      : `p.deptype in ('n', 'a') and p.refclassid = ${catalogOid('pg_class')} and p.refobjid = ${id}
      and p.refobjsubid = (select a.attnum::pg_catalog.int4 from pg_catalog.pg_attribute a
        where a.attrelid = ${id} and a.attname = ${quoteLiteral(column)} and not a.attisdropped)`
  const partsOfTable = `union select ${catalogOid('pg_constraint')}, c.oid from pg_catalog.pg_constraint c where c.conrelid = ${id}
  union select ${catalogOid('pg_policy')}, c.oid from pg_catalog.pg_policy c where c.polrelid = ${id}
  union select ${catalogOid('pg_trigger')}, c.oid from pg_catalog.pg_trigger c where c.tgrelid = ${id}`
  return `with recursive found (classid, objid, deptype) as (
  select o.classid, o.objid, p.deptype from pg_catalog.pg_depend p ${ofRule} where ${direct}
  union
  select o.classid, o.objid, p.deptype from found f
  join pg_catalog.pg_depend p on p.refclassid = f.classid and p.refobjid = f.objid and p.deptype = 'n' ${ofRule}
), own (classid, objid) as (
  select ${catalogOid('pg_class')}, ${id}
  union select ${catalogOid('pg_attrdef')}, d.oid from pg_catalog.pg_attrdef d where d.adrelid = ${id}
  ${column === undefined ? partsOfTable : ''}
)
select pg_catalog.pg_describe_object(f.classid, f.objid, 0) as what, pg_catalog.bool_or(f.deptype = 'n') as "isHolding"
from found f where not exists (select from own where own.classid = f.classid and own.objid = f.objid)
group by 1 order by 2 desc, 1 limit ${mostDependents}`
}

/** The first columns of a table's indexes: a filter on one is fast. */
export const indexedSql = (table: TableId) => `
select a.attname as name from pg_catalog.pg_index x
join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
where x.indrelid = ${oidOf(table)} and x.indisvalid`
