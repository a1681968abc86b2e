import { quoteName, quoteQualified } from '../../contract/text/quote.ts'
import { freeName } from '../files/names.ts'
import { ImportFailure } from '../import-failure.ts'
import { checkLimits, type Loading, type Stage, type StageColumn } from './loading.ts'
import { queryInCatalog } from './run-statement.ts'

/** The columns of a table that is there already, by name. */
export type KnownColumns = ReadonlyMap<string, string>

/**
 * Creates a table to load into. Columns that the table to be changed has get its types. `point`: an expression that
 * the_geom is computed from while rows are stored.
 */
export async function createStage(
  loading: Loading,
  wanted: string,
  columns: readonly StageColumn[],
  geometry: Stage['geometry'],
  { point, layer }: Readonly<{ point?: string | undefined; layer?: string | undefined }> = {},
): Promise<Stage> {
  const { session, account, importId, stages } = loading
  checkColumnCount(columns.length)
  const known = await targetColumns(loading, wanted)
  const typed = columns.map((column) => ({
    ...column,
    type: (column.name === 'the_geom' ? undefined : known?.get(column.name)) ?? column.type,
  }))
  const name = `import_${importId.replaceAll('-', '').slice(0, 12)}_${stages.length + 1}`
  const isGenerated = known === undefined && geometry !== undefined && !geometry.isRaw
  const line = lineColumn(loading, columns)
  const stage: Stage = { name, wanted, layer, columns: typed, geometry, isGenerated, line, rows: 0 }
  const definitions = [
    ...typed.map((column) => `${quoteName(column.name)} ${column.type}`),
    ...(point === undefined ? [] : [generated('the_geom', 4326, point)]),
    ...(isGenerated ? [generated('the_geom_webmercator', 3857, mercatorOf(point ?? 'the_geom'))] : []),
    ...(known === undefined && !columns.some((column) => column.name === 'cartodb_id')
      ? ['cartodb_id serial']
      : []),
    ...(line === undefined ? [] : [`${line} bigint`]),
  ]
  await queryInCatalog(
    session,
    `create table ${quoteQualified(account.schema, name)} (${definitions.join(', ')})`,
  )
  stages.push(stage)
  loading.meter.tablesTotal = Math.max(loading.meter.tablesTotal, stages.length)
  checkLimits(loading)
  return stage
}

/** Rows that another table refuses are found by their line. */
function lineColumn({ rejects, options }: Loading, columns: readonly StageColumn[]): string | undefined {
  if (!rejects || options.collision === undefined || options.collision === 'skip') return undefined
  return freeName('cartage_line', (candidate) => columns.some(({ name }) => name === candidate))
}

/** The limit of PostgreSQL, less the columns that are added. */
const maxColumns = 1_597

const generated = (name: string, srid: number, expression: string) =>
  `${name} postgis.geometry(Geometry,${srid}) generated always as (${expression}) stored`

const mercatorOf = (geometry: string) => `cartodb.CDB_TransformToWebmercator(${geometry})`

/** Undefined: a new table will be made. */
export async function targetColumns(
  { session, account, options }: Loading,
  table: string,
): Promise<KnownColumns | undefined> {
  const { collision } = options
  if (collision === undefined || collision === 'skip') return undefined
  const rows = await queryInCatalog<{ name: string; type: string }>(
    session,
    `select a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type
     from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p') and a.attnum > 0
       and not a.attisdropped and a.attgenerated = ''`,
    [account.schema, table],
  )
  return rows.length === 0 ? undefined : new Map(rows.map(({ name, type }) => [name, type]))
}

/** The number in a column, which may be text in a table that is there. */
export const coordinateOf = (column: string) => `nullif(${quoteName(column)}::double precision, 'NaN')`

/** Curves become lines; a geometry as it stands in the file becomes flat later. */
export async function straighten(loading: Loading, stage: Stage): Promise<void> {
  if (stage.geometry?.isRaw) return
  await queryInCatalog(
    loading.session,
    `update ${stageName(loading, stage)} set the_geom = postgis.ST_CurveToLine(the_geom)
     where postgis.ST_HasArc(the_geom) or postgis.GeometryType(the_geom) similar to '%(CURVE|SURFACE|CIRCULAR)%'`,
  )
}

export const stageName = ({ account }: Loading, { name }: Stage) => quoteQualified(account.schema, name)

export function copyStatement(
  loading: Loading,
  stage: Stage,
  columns: readonly string[],
  options: string,
): string {
  const names = columns.map(quoteName).join(', ')
  return withLine(
    stage,
    `copy ${stageName(loading, stage)}${columns.length > 0 ? ` (${names})` : ''} from stdin ${options}`,
  )
}

/** A COPY that names its columns gets the one of the line before them. */
export function withLine({ line }: Stage, copy: string): string {
  return line === undefined ? copy : copy.replace(/^(copy \S+ \()/i, `$1${line}, `)
}

export function checkColumnCount(count: number): void {
  if (count > maxColumns)
    throw new ImportFailure(2004, `The file has more than ${maxColumns} columns, and a table cannot`)
}
