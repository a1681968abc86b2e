import type { OnConflict } from '../../contract/formats.ts'
import { quoteName, quoteQualified } from '../../contract/text/quote.ts'
import { errors } from '../../errors.ts'
import type { Session } from '../../postgres/session.ts'
import { type CopyLoad, copyInto } from '../../sql/copy-load.ts'

export type MergeOptions = Readonly<{ onConflict: OnConflict; key: readonly string[] }>

/** The statements of a load that goes through a temporary table. */
export type Merge = Readonly<{
  createTemporary: string
  copy: string
  /** Answers the rows inserted and updated. */
  merge: string
  /** Before the next part. */
  clear: string
}>

/** Asks the catalog on the session of the load, in its transaction: the table may have been made in it. */
export async function mergeOf(session: Session, load: CopyLoad, options: MergeOptions): Promise<Merge> {
  const { schema, name } = load.table
  const target = schema === undefined ? quoteName(name) : quoteQualified(schema, name)
  const columns = await columnsOf(session, target, load)
  const unknown = options.key.find((key) => !columns.some((column) => column.name === key))
  if (unknown !== undefined) throw errors.badRequest(`Invalid key: the COPY has no column ${unknown}`)
  const index = await uniqueIndexOf(session, target, options.key)
  if (!index) throw errors.uniqueIndexMissing(indexToCreate(target, options.key))
  const names = columns.map((column) => quoteName(column.name))
  const definitions = columns.map(({ type }, at) => `${names[at]} ${type}`).join(', ')
  return {
    createTemporary: `create temporary table ${temporary} (${definitions}) on commit drop`,
    copy: copyInto(load, temporary, names),
    merge: mergeStatement(target, columns, options, index),
    clear: `truncate ${temporary}`,
  }
}

const temporary = 'pg_temp.cartage_rows'

type TargetColumn = Readonly<{ name: string; type: string; is_fixed: boolean }>
type Index = Readonly<{ nulls_distinct: boolean; is_partitioned: boolean }>

/** The columns that the COPY fills, in its order. A generated column cannot be filled. */
async function columnsOf(session: Session, target: string, load: CopyLoad): Promise<readonly TargetColumn[]> {
  const { rows } = await session.query<TargetColumn & { is_generated: boolean }>(columnsSql, [target])
  if (rows.length === 0) throw errors.badRequest(`relation ${target} does not exist`)
  const { columns } = load
  if (!columns) return rows.filter((column) => !column.is_generated)
  return columns.map((name) => {
    const found = rows.find((column) => column.name === name)
    if (!found) throw errors.badRequest(`column "${name}" of relation ${target} does not exist`)
    return found
  })
}

/** `is_fixed`: an identity column that an UPDATE may not change. */
const columnsSql = `
select attname as name, pg_catalog.format_type(atttypid, atttypmod) as type,
  attidentity operator(pg_catalog.=) 'a' as is_fixed, attgenerated operator(pg_catalog.<>) '' as is_generated
from pg_catalog.pg_attribute
where attrelid operator(pg_catalog.=) pg_catalog.to_regclass($1) and attnum operator(pg_catalog.>) 0
  and not attisdropped
order by attnum`

/** A unique index on exactly these columns, of all rows. */
async function uniqueIndexOf(
  session: Session,
  target: string,
  key: readonly string[],
): Promise<Index | undefined> {
  const { rows } = await session.query<FoundIndex>(indexesSql, [target])
  const wanted = [...key].sort().join('\0')
  const found = rows.find(({ columns }) => [...columns].sort().join('\0') === wanted)
  return (
    found && {
      nulls_distinct: !/\bNULLS NOT DISTINCT\b/.test(found.definition),
      is_partitioned: found.is_partitioned,
    }
  )
}

type FoundIndex = Readonly<{ columns: string[]; definition: string; is_partitioned: boolean }>

const indexesSql = `
select pg_catalog.pg_get_indexdef(indexrelid) as definition,
  (
    select relkind operator(pg_catalog.=) 'p' from pg_catalog.pg_class where oid operator(pg_catalog.=) indrelid
  ) as is_partitioned,
  (
    select pg_catalog.array_agg(attname::pg_catalog.text) from pg_catalog.pg_attribute
    where attrelid operator(pg_catalog.=) indrelid
      and attnum operator(pg_catalog.=) any((indkey::pg_catalog.int2[])[0:indnkeyatts operator(pg_catalog.-) 1])
  ) as columns
from pg_catalog.pg_index
where indrelid operator(pg_catalog.=) pg_catalog.to_regclass($1) and indisunique and indisvalid and indimmediate
  and indpred is null and indexprs is null`

const indexToCreate = (target: string, key: readonly string[]) =>
  `CREATE UNIQUE INDEX ON ${target} (${key.map(quoteName).join(', ')})`

/** If several rows have the same key, the last one counts, as if they had come one after the other. */
function mergeStatement(
  target: string,
  columns: readonly TargetColumn[],
  { onConflict, key }: MergeOptions,
  index: Index,
): string {
  const names = columns.map(({ name }) => quoteName(name))
  const keys = key.map(quoteName)
  const list = `(${names.join(', ')})`
  const insert = `insert into ${target} as target ${list} overriding system value`
  const arbiter = `on conflict (${keys.join(', ')})`
  if (onConflict === 'nothing') {
    return `with cartage_done as (
  ${insert} select ${names.join(', ')} from ${temporary} order by ctid
  ${arbiter} do nothing returning 1
) select pg_catalog.count(*), 0 from cartage_done`
  }
  const others = columns.filter(({ name, is_fixed }) => !key.includes(name) && !is_fixed)
  const changed = others.length > 0 ? others.map(({ name }) => quoteName(name)) : keys.slice(0, 1)
  const changes = changed.map((name) => `${name} = excluded.${name}`).join(', ')
  const isAlone = index.nulls_distinct ? keys.map((name) => ` or ${name} is null`).join('') : ''
  return `with cartage_done as (
  ${insert} select ${names.join(', ')} from (
    select ${names.join(', ')}, pg_catalog.row_number() over (partition by ${keys.join(', ')} order by ctid desc) as cartage_place
    from ${temporary}
  ) as cartage_last where cartage_place operator(pg_catalog.=) 1${isAlone}
  ${arbiter} do update set ${changes}
  returning case when ${isNew(target, keys, index)} then 1 end as cartage_new
) select pg_catalog.count(cartage_new), pg_catalog.count(*) operator(pg_catalog.-) pg_catalog.count(cartage_new)
from cartage_done`
}

/**
 * Whether a row of the merge was inserted. A partitioned table has no `xmax` here, so the SQL checks whether the row
 * existed when the statement began: a row that another session inserted since then counts as new.
 */
function isNew(target: string, keys: readonly string[], { is_partitioned, nulls_distinct }: Index): string {
  if (!is_partitioned) return 'target.xmax operator(pg_catalog.=) 0'
  // An index is not used for `is not distinct from`.
  const isSame = (name: string) =>
    nulls_distinct
      ? `former.${name} = target.${name}`
      : `(former.${name} = target.${name} or (former.${name} is null and target.${name} is null))`
  return `not exists (select from ${target} as former where ${keys.map(isSame).join(' and ')})`
}
