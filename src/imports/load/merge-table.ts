import { quoteLiteral, quoteName, quoteQualified } from '../../contract/text/quote.ts'
import type { Points } from '../../file-import/import-plan.ts'
import { ImportFailure } from '../import-failure.ts'
import { DatabaseFault } from './database-fault.ts'
import { insertRows } from './insert-rows.ts'
import type { Loading, Stage } from './loading.ts'
import { inCallersPath, queryInCatalog } from './run-statement.ts'
import { type KnownColumns, stageName } from './stage-table.ts'

/** Brings the loaded rows into a table that is there: replaces its rows, adds to them, or updates those with the same key. */
export async function mergeTable(loading: Loading, stage: Stage, known: KnownColumns): Promise<void> {
  const { options } = loading
  stage.computed = await computedColumns(loading, stage, known)
  try {
    if (options.collision === 'overwrite') await overwrite(loading, stage, known)
    else if (options.collision === 'upsert') await upsert(loading, stage, known)
    else await append(loading, stage, known)
  } catch (error) {
    throw misfit(error, stage)
  }
}

/** The points of the rows, if the table has a column for them or may get one. */
async function computedColumns(
  { session, account, options }: Loading,
  stage: Stage,
  known: KnownColumns,
): Promise<readonly string[]> {
  if (!stage.geometry || stage.columns.some(({ name }) => name === geometryColumn)) return []
  if (known.has(geometryColumn)) return [geometryColumn]
  if (options.collision !== 'overwrite' && !options.addColumns) return []
  // The table may compute it from its own columns.
  const generated = await queryInCatalog(
    session,
    `select from pg_attribute where attrelid = $1::regclass and attname = $2 and not attisdropped`,
    [quoteQualified(account.schema, stage.wanted), geometryColumn],
  )
  return generated.length > 0 ? [] : [geometryColumn]
}

const geometryColumn = 'the_geom'

/** The table keeps its identity: grants, views, indexes and triggers stay. It is locked only now. */
async function overwrite(loading: Loading, stage: Stage, known: KnownColumns): Promise<void> {
  const { session, account, options, warnings } = loading
  const table = quoteQualified(account.schema, stage.wanted)
  await checkOwner(loading, stage)
  await queryInCatalog(
    session,
    `set local lock_timeout = '10s'; lock table ${table} in access exclusive mode`,
  )
  await addColumns(loading, stage, known)
  const columns = stage.columns.map(({ name }) => name)
  const missing = [...known.keys()].filter((name) => !columns.includes(name) && !ownColumns.includes(name))
  if (missing.length > 0) warnings.add('missing_columns', ...missing)
  stage.nulls = await withDefault(loading, table, missing)
  await inCallersPath(session, () => queryInCatalog(session, `truncate ${table}`))
  await insertRows(loading, stage)
  if (options.privacy !== undefined) await setPrivacy(loading, table)
}

/** Not every file tells its tables when it is sent. */
async function checkOwner({ session, account }: Loading, { wanted }: Stage): Promise<void> {
  const [found] = await queryInCatalog<{ is_own: boolean }>(
    session,
    `select pg_has_role(relowner, 'USAGE') as is_own from pg_class where oid = $1::regclass`,
    [quoteQualified(account.schema, wanted)],
  )
  if (found?.is_own === false)
    throw new ImportFailure(2012, `Only its owner overwrites a table, and ${wanted} has another owner`)
}

/** Those of the columns that have a default and may be NULL. What CHECK refuses is seen with the rows. */
async function withDefault(
  { session }: Loading,
  table: string,
  columns: readonly string[],
): Promise<readonly string[]> {
  const rows = await queryInCatalog<{ name: string }>(
    session,
    `select a.attname as name from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
     where a.attrelid = $1::regclass and a.attname = any ($2) and a.atthasdef and not a.attnotnull and not t.typnotnull`,
    [table, columns],
  )
  return rows.map(({ name }) => name)
}

const ownColumns = ['cartodb_id', 'the_geom', 'the_geom_webmercator']

async function append(loading: Loading, stage: Stage, known: KnownColumns): Promise<void> {
  const lacking = stage.columns.filter(({ name }) => !known.has(name)).map(({ name }) => name)
  if (lacking.length > 0 && !loading.options.addColumns)
    throw new ImportFailure(
      2012,
      `The table ${stage.wanted} has no column ${lacking.join(', ')}: send add_columns=true to add them`,
    )
  await addColumns(loading, stage, known)
  await insertRows(loading, stage)
}

async function upsert(loading: Loading, stage: Stage, known: KnownColumns): Promise<void> {
  const { session, options, account } = loading
  const key = options.key ?? []
  const names = stage.columns.map(({ name }) => name)
  const strange = key.find((name) => !names.includes(name) || !known.has(name))
  if (strange !== undefined)
    throw new ImportFailure(2012, `The key column ${strange} is not in both the file and the table`)
  const lacking = names.filter((name) => !known.has(name))
  if (lacking.length > 0 && !options.addColumns)
    throw new ImportFailure(
      2012,
      `The table ${stage.wanted} has no column ${lacking.join(', ')}: send add_columns=true to add them`,
    )
  await addColumns(loading, stage, known)
  const keys = key.map(quoteName).join(', ')
  await queryInCatalog(session, `create index on ${stageName(loading, stage)} (${keys})`)
  const stored = [...names, ...(stage.computed ?? [])]
  const others = stored.filter((name) => !key.includes(name) && name !== 'cartodb_id').map(quoteName)
  const points = stage.geometry && !stage.geometry.isRaw ? stage.geometry.points : undefined
  const newValue = (name: string) =>
    stage.computed?.some((each) => quoteName(each) === name) && points
      ? movedPoint(name, points, known)
      : `excluded.${name}`
  const sets = others.map((name) => `${name} = ${newValue(name)}`).join(', ')
  const keeps = options.keepsExisting === true || sets === ''
  const conflict = `on conflict (${keys}) do ${keeps ? 'nothing' : `update set ${sets}`}`
  const isNew = keeps ? 'true' : await isNewSql(loading, stage, key)
  await insertRows(loading, stage, { key, conflict, keeps, isNew }).catch((error: unknown) => {
    if (!(error instanceof DatabaseFault) || error.sqlstate !== '42P10') throw error
    const index = `CREATE UNIQUE INDEX ON ${quoteQualified(account.schema, stage.wanted)} (${keys})`
    throw new ImportFailure(2012, `upsert needs a unique index on its key: ${index}`)
  })
}

/** A geometry moves with the coordinates of its row if it is their point. Others, as those drawn by hand, stay. */
function movedPoint(geometry: string, { lon, lat }: Points, known: KnownColumns): string {
  const isThere = known.has(lon) && known.has(lat)
  const former = isThere
    ? `target.${geometry}::postgis.geometry operator(postgis.=) postgis.st_setsrid(
        postgis.st_makepoint(target.${quoteName(lon)}::float8, target.${quoteName(lat)}::float8), 4326)`
    : 'false'
  return `case when target.${geometry} is null or ${former} then excluded.${geometry} else target.${geometry} end`
}

/** Whether the row `target` is new. A partitioned table or a view has no `xmax` here: then the SQL checks whether the key existed before. */
async function isNewSql(
  { session, account }: Loading,
  stage: Stage,
  key: readonly string[],
): Promise<string> {
  const table = quoteQualified(account.schema, stage.wanted)
  const [found] = await queryInCatalog<{ is_plain: boolean }>(
    session,
    `select relkind = 'r' as is_plain from pg_class where oid = ${quoteLiteral(table)}::regclass`,
  )
  if (found!.is_plain) return 'target.xmax operator(pg_catalog.=) 0'
  const isSame = key.map(quoteName).map((name) => `former.${name} = target.${name}`)
  return `not exists (select from ${table} as former where ${isSame.join(' and ')})`
}

async function addColumns(loading: Loading, stage: Stage, known: KnownColumns): Promise<void> {
  const { session, account } = loading
  const points = (stage.computed ?? []).map((name) => ({ name, type: 'geometry' }))
  for (const { name, type } of [...stage.columns, ...points].filter((column) => !known.has(column.name)))
    await queryInCatalog(
      session,
      `alter table ${quoteQualified(account.schema, stage.wanted)} add column ${quoteName(name)} ${
        name === geometryColumn ? 'postgis.geometry(Geometry,4326)' : type
      }`,
    )
}

async function setPrivacy({ session, account, options }: Loading, table: string): Promise<void> {
  const reader = quoteName(account.publicRole)
  await queryInCatalog(
    session,
    options.privacy === 'private'
      ? `revoke select on ${table} from ${reader}`
      : `grant select on ${table} to ${reader}`,
  )
}

/** Wrong types, wrong values and broken rules of the table: the old rows stay. */
function misfit(error: unknown, { wanted }: Stage): unknown {
  if (!(error instanceof DatabaseFault)) return error
  if (error.sqlstate === '55P03')
    return new ImportFailure(2013, `The table ${wanted} is in use: it could not be locked within 10 seconds`)
  if (isAboutKey(error)) {
    const { message, detail } = error.error
    return new ImportFailure(2011, detail ? `${message}: ${detail}` : message, { cause: error })
  }
  if (/^(22|23|42804|42501|42846|428C9)/.test(error.sqlstate))
    return new ImportFailure(2012, error.message, { cause: error })
  return error
}

/** A cartodb_id of the file that is NULL, twice in it or in the table already. In any language the detail names the key so. */
function isAboutKey({ sqlstate, error: { column, detail = '' } }: DatabaseFault): boolean {
  if (sqlstate === '23502') return column === 'cartodb_id'
  return sqlstate === '23505' && detail.includes('(cartodb_id)=')
}
