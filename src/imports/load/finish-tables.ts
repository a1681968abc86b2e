import { quoteLiteral, quoteName, quoteQualified } from '../../contract/text/quote.ts'
import type { Points } from '../../file-import/import-plan.ts'
import { freeName, numbered } from '../files/names.ts'
import { ImportFailure } from '../import-failure.ts'
import type { ImportResult } from '../import-record.ts'
import { DatabaseFault } from './database-fault.ts'
import { type Loading, placeOfLayer, type Stage, type Warnings } from './loading.ts'
import { mergeTable } from './merge-table.ts'
import { inSavepoint, queryInCatalog } from './run-statement.ts'
import { coordinateOf, stageName, straighten, targetColumns } from './stage-table.ts'

/**
 * Makes the loaded tables what they are for others, and tells what was made. `skipped`: tables of the import that are there
 * and were not loaded.
 */
export async function finishTables(loading: Loading, skipped: readonly string[]): Promise<ImportResult> {
  const tables: string[] = []
  const taken = new Set(skipped)
  let created = 0
  for (const stage of loading.stages) {
    const { name, isNew } = await finishTable(loading, stage, tables).catch((error: unknown) => {
      throw placed(loading, stage, error)
    })
    if (name === undefined) {
      taken.add(stage.wanted)
      stage.rows = 0
    } else tables.push(name)
    if (name !== undefined && isNew) created++
    loading.meter.tablesDone++
  }
  const { warnings } = loading
  if (tables.length === 0) return skippedResult([...taken], warnings)
  if (taken.size > 0) warnings.add('skipped_tables', ...taken)
  return { tables, created, warnings: warnings.document }
}

/** `name`: undefined if its table is skipped. */
async function finishTable(
  loading: Loading,
  stage: Stage,
  made: readonly string[],
): Promise<Readonly<{ name: string | undefined; isNew: boolean }>> {
  await readGeometry(loading, stage)
  const known = await targetColumns(loading, stage.wanted)
  if (!known) return { name: await publish(loading, stage, made), isNew: true }
  await mergeTable(loading, stage, known)
  return { name: stage.wanted, isNew: false }
}

/** An error of one of several tables says where in the upload its rows stand. */
function placed({ stages }: Loading, { place = '', layer }: Stage, error: unknown): unknown {
  if (stages.length === 1) return error
  const where = `${place}${placeOfLayer(layer)}`
  if (error instanceof ImportFailure)
    return new ImportFailure(error.code, `${where}${error.message}`, { cause: error })
  if (error instanceof DatabaseFault) error.place = where
  return error
}

/** With the strategy `skip`, if all tables of the import are there. */
export const skippedResult = (tables: readonly string[], warnings: Warnings): ImportResult => ({
  tables,
  created: 0,
  warnings: warnings.document,
  error: { code: 1022, text: `A table '${tables[0]}' exists already: nothing was imported` },
})

/** A geometry as it stands in the file becomes flat longitude and latitude. */
export async function readGeometry(loading: Loading, stage: Stage): Promise<void> {
  const { session, warnings } = loading
  const { geometry } = stage
  if (geometry && !geometry.isRaw && geometry.points) await checkPoints(loading, stage, geometry.points)
  if (!geometry?.isRaw) return
  const table = stageName(loading, stage)
  const [seen] = await queryInCatalog<{ is_unknown: boolean; is_far: boolean }>(
    session,
    `select bool_or(srid = 0) as is_unknown, bool_or(srid = 0 and is_far) as is_far from (
       select ${sridOf(geometry.srid)} as srid, ${isFar} as is_far
       from ${table} where the_geom is not null) one`,
  )
  if (seen?.is_far) throw noReferenceSystem()
  if (seen?.is_unknown) warnings.sridAssumed = 4326
  const flat = 'postgis.ST_Force2D(postgis.ST_CurveToLine(the_geom))'
  await queryInCatalog(
    session,
    `alter table ${table} alter column the_geom type postgis.geometry(Geometry,4326) using
       case ${sridOf(geometry.srid)} when 0 then postgis.ST_SetSRID(${flat}, 4326) when 4326 then postgis.ST_SetSRID(${flat}, 4326)
       else postgis.ST_Transform(postgis.ST_SetSRID(${flat}, ${sridOf(geometry.srid)}), 4326) end`,
  ).catch((error: unknown) => {
    if (error instanceof DatabaseFault && /SRID|spatial_ref_sys|proj/i.test(error.message))
      throw new ImportFailure(3008, error.message, { cause: error })
    throw error
  })
}

const isFar = `not coalesce(
  postgis.ST_XMin(the_geom) >= -180.0000001 and postgis.ST_XMax(the_geom) <= 180.0000001
  and postgis.ST_YMin(the_geom) >= -90.0000001 and postgis.ST_YMax(the_geom) <= 90.0000001, true)`

const noReferenceSystem = () =>
  new ImportFailure(
    3101,
    'The file does not name its reference system, and its coordinates are not longitude and latitude',
  )

/** Points of two columns. Only `x` and `y` leave a doubt about what they are. */
async function checkPoints(loading: Loading, stage: Stage, { lon, lat }: Points): Promise<void> {
  const [x, y] = [coordinateOf(lon), coordinateOf(lat)]
  const [seen] = await queryInCatalog<{ has_points: boolean; is_far: boolean }>(
    loading.session,
    `select count(*) > 0 as has_points,
       bool_or(${x} not between -180.0000001 and 180.0000001 or ${y} not between -90.0000001 and 90.0000001) as is_far
     from ${stageName(loading, stage)} where ${x} is not null and ${y} is not null`,
  )
  if (seen?.is_far) throw noReferenceSystem()
  if (seen?.has_points && (lon === 'x' || lat === 'y')) loading.warnings.sridAssumed = 4326
}

/** Names by which CDB_CartodbfyTable finds a geometry. */
const isFoundIn = [
  ...['the_geom', 'geom', 'geometry', 'wkb_geometry', 'wkb', 'ewkb', 'wkt', 'wkt_geom', 'geom_wkt'],
  ...['geojson', 'shape'],
]
const isTextual = (type: string) => /^(text|json|character)/.test(type)

/** The geometry that CDB_CartodbfyTable has found in a column of text. */
async function settleFoundGeometry(loading: Loading, stage: Stage): Promise<void> {
  const isPossible = stage.columns.some(({ name, type }) => isFoundIn.includes(name) && isTextual(type))
  if (stage.geometry || !isPossible) return
  const [seen] = await queryInCatalog<{ is_far: boolean }>(
    loading.session,
    `select bool_or(${isFar}) as is_far from ${stageName(loading, stage)} where the_geom is not null`,
  )
  if (seen?.is_far) throw noReferenceSystem()
  await straighten(loading, stage)
}

/** The SRID of the value, or that of its layer. */
const sridOf = (srid: number) =>
  `(case when postgis.ST_SRID(the_geom) > 0 then postgis.ST_SRID(the_geom) else ${Math.max(0, srid)} end)`

/**
 * A new table gets its key, both geometries, their indexes and statistics, then its name and its readers. `made`: the tables
 * that the import has made. Undefined: its name is taken, and the table is skipped.
 */
async function publish(loading: Loading, stage: Stage, made: readonly string[]): Promise<string | undefined> {
  const { session, account, options } = loading
  const table = stageName(loading, stage)
  const literal = quoteLiteral(table)
  if (stage.line !== undefined)
    await queryInCatalog(session, `alter table ${table} drop column ${stage.line}`)
  if (stage.isGenerated)
    await queryInCatalog(session, `alter table ${table} alter column the_geom_webmercator drop expression`)
  if (stage.geometry && !stage.columns.some(({ name }) => name === 'the_geom'))
    await queryInCatalog(session, `alter table ${table} alter column the_geom drop expression`)
  await checkKey(loading, stage)
  await queryInCatalog(session, `select cartodb.CDB_CartodbfyTable(${literal}::regclass)`)
  await settleFoundGeometry(loading, stage)
  await queryInCatalog(session, `analyze ${table}`)
  const name = await giveName(loading, stage, made)
  if (name === undefined) {
    await queryInCatalog(session, `drop table ${table}`)
    return undefined
  }
  await renameParts(loading, stage, name)
  // Under its own name, which is the one in the audit record.
  if (options.privacy === 'public' || options.privacy === 'link')
    await queryInCatalog(
      session,
      `grant select on ${quoteQualified(account.schema, name)} to ${quoteName(account.publicRole)}`,
    )
  return name
}

/** The file's own cartodb_id stays if it can be a key, and leaves room for the keys of further rows. */
async function checkKey(loading: Loading, stage: Stage): Promise<void> {
  const column = stage.columns.find(({ name }) => name === 'cartodb_id')
  if (!column) return
  const table = stageName(loading, stage)
  const highest = highestKeys[column.type]
  const [counted] = highest
    ? await queryInCatalog<{ is_key: boolean }>(
        loading.session,
        `select count(*) = count(cartodb_id) and count(*) = count(distinct cartodb_id)
           and coalesce(max(cartodb_id) <= ${highest}, true) as is_key from ${table}`,
      )
    : []
  if (counted?.is_key) return
  const taken = new Set(stage.columns.map(({ name }) => name))
  const name = freeName('cartodb_id_1', (candidate) => taken.has(candidate))
  await queryInCatalog(loading.session, `alter table ${table} rename column cartodb_id to ${quoteName(name)}`)
}

/** The highest key that leaves room for more, by type. */
const highestKeys: Readonly<Record<string, string>> = {
  smallint: '32767',
  integer: '2146483647',
  bigint: '9223372036853775807',
}

/** The first free one of `name`, `name_1`, ...; with the strategy `skip` only the first, unless this import has taken it. */
async function giveName(
  loading: Loading,
  stage: Stage,
  made: readonly string[],
): Promise<string | undefined> {
  const { session, account, options, warnings } = loading
  const rows = await queryInCatalog<{ name: string }>(
    session,
    `select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1`,
    [account.schema],
  )
  const taken = new Set(rows.map(({ name }) => name))
  const isSkipped = options.collision === 'skip' && !made.includes(stage.wanted)
  for (let number = 0; number < mostNames; number++) {
    const name = number === 0 ? stage.wanted : numbered(stage.wanted, number)
    if (number > 0 && isSkipped) return undefined
    if (taken.has(name) || !(await isRenamed(loading, stage, name))) continue
    if (number > 0) warnings.add('renamed', name)
    return name
  }
  throw new ImportFailure(
    1014,
    `No name is free for the table: ${mostNames} tables are called ${stage.wanted}`,
  )
}

const mostNames = 10_000

/** False: another transaction has just taken the name. */
async function isRenamed(loading: Loading, stage: Stage, name: string): Promise<boolean> {
  const { session } = loading
  try {
    await inSavepoint(session, () =>
      queryInCatalog(session, `alter table ${stageName(loading, stage)} rename to ${quoteName(name)}`),
    )
    return true
  } catch (error) {
    if (error instanceof DatabaseFault && ['42P07', '42710', '23505'].includes(error.sqlstate)) return false
    throw error
  }
}

/** Indexes and the sequence have the name of the table in theirs. */
async function renameParts(loading: Loading, stage: Stage, table: string): Promise<void> {
  const { session, account } = loading
  const rows = await queryInCatalog<{ name: string; kind: string; old: boolean }>(
    session,
    `select c.relname as name, c.relkind as kind, starts_with(c.relname, $2) as old
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind in ('i', 'S', 'r', 'v', 'm', 'f', 'p', 'I', 'c')`,
    [account.schema, stage.name],
  )
  const taken = new Set(rows.map(({ name }) => name))
  for (const { name, kind } of rows.filter(({ old }) => old)) {
    const rest = name.slice(stage.name.length)
    const wanted = freeName(table.slice(0, 63 - rest.length) + rest, (candidate) => taken.has(candidate))
    taken.add(wanted)
    const what = kind === 'S' ? 'sequence' : 'index'
    await queryInCatalog(
      session,
      `alter ${what} ${quoteQualified(account.schema, name)} rename to ${quoteName(wanted)}`,
    )
  }
}
