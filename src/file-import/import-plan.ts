import type { OnConflict } from '../contract/formats.ts'
import { quoteLiteral, quoteShell, shownName } from '../contract/text/quote.ts'
import type { CsvDialect } from './csv-head.ts'
import { hasPointField } from './point-field.ts'
import type { ValueForm } from './values/local-values.ts'

export type ImportColumn = Readonly<{
  /** In the table. */
  name: string
  type: string
  /** As in InferredColumn; true if the values were not read yet. */
  hasQuotedEmpty: boolean
  /** Its values are rewritten in the form that PostgreSQL reads. */
  form?: ValueForm | undefined
}>

/** Two columns of numbers, by their names in the table. */
export type Points = Readonly<{ lon: string; lat: string }>

/** What is done with a row whose key is in the table. The key has a unique index. */
export type RowMerge = Readonly<{ onConflict: OnConflict; key: readonly string[] }>

export type ImportPlan = Readonly<{
  /** Without it, the first schema of the search path. */
  schema?: string | undefined
  table: string
  /** A table that is made for it, or one that is there and gets more rows. */
  isNew: boolean
  /** The columns of the file, in its order. */
  columns: readonly ImportColumn[]
  dialect: CsvDialect
  /** As in Inference. */
  hasNullMark?: boolean | undefined
  /** The column the_geom is filled from them. */
  points?: Points | undefined
  /** Bad rows are sent as they are: the service leaves them out. Otherwise a bad row is an error. */
  sendsBad?: boolean | undefined
  /** Of a table that is there. Otherwise all rows are added. */
  merge?: RowMerge | undefined
  /** CDB_CartodbfyTable: a key, both geometries, their indexes. Only of a new table: it would rename the key of another. */
  isPrepared: boolean
}>

export type ImportStatements = Readonly<{
  /** A new table, which is made with its rows. */
  create: string | undefined
  /** For copyfrom, with the file as it is, or as rewriteRows has it. */
  copy: string
  /** What comes after the rows, as a job: each by itself. */
  after: readonly string[]
  /** Tries to make the table and rolls back. Waits for a transaction that makes a table of this name. */
  tryCreate: string | undefined
  count: string
}>

/** Every statement of an import, in their order. */
export function importStatements(plan: ImportPlan): ImportStatements {
  const name = importTarget(plan)
  const create = plan.isNew ? createTable(name, plan) : undefined
  const points =
    plan.isNew && plan.points ? [`ALTER TABLE ${name} ALTER COLUMN the_geom DROP EXPRESSION`] : []
  const prepare = plan.isPrepared ? [`SELECT CDB_CartodbfyTable(${quoteLiteral(name).trim()})`] : []
  return {
    create,
    copy: copyStatement(name, plan),
    after: [...points, ...prepare, `ANALYZE ${name}`],
    tryCreate: create && `BEGIN;\n${create};\nROLLBACK`,
    count: `SELECT count(*) AS rows FROM ${name}`,
  }
}

/** The table as a statement names it. */
export const importTarget = ({ schema, table }: Pick<ImportPlan, 'schema' | 'table'>) =>
  [...(schema === undefined ? [] : [schema]), table].map(shownName).join('.')

/** The points of a new table are computed while its rows are stored: filled in afterwards, every row would be written twice. */
function createTable(name: string, { columns, points }: ImportPlan): string {
  const definitions = columns.map((column) => `${shownName(column.name)} ${column.type}`)
  const geometry = points && [
    `the_geom geometry(Geometry,4326) GENERATED ALWAYS AS (${pointOf(points)}) STORED`,
  ]
  return `CREATE TABLE ${name} (\n  ${[...definitions, ...(geometry ?? [])].join(',\n  ')}\n)`
}

const pointOf = ({ lon, lat }: Points) =>
  `ST_SetSRID(ST_MakePoint(${shownName(lon)}, ${shownName(lat)}), 4326)`

/** A new table has the columns of the file in its order, so that they need not be named. */
function copyStatement(name: string, plan: ImportPlan): string {
  const names = plan.columns.map((column) => shownName(column.name))
  const columns = hasPointField(plan) ? ['the_geom', ...names] : names
  return `COPY ${name}${plan.isNew ? '' : ` (${columns.join(', ')})`} FROM STDIN WITH (${copyOptions(plan).join(', ')})`
}

function copyOptions({ columns, dialect, hasNullMark }: ImportPlan): string[] {
  const { delimiter, quote, hasHeader, encoding, isCopyText } = dialect
  const header = hasHeader && 'HEADER true'
  const encoded = encoding !== 'UTF8' && `ENCODING '${encoding}'`
  if (isCopyText) return ['FORMAT text', header, encoded].filter((option) => typeof option === 'string')
  const empties = columns.filter(({ type, hasQuotedEmpty }) => hasQuotedEmpty && type !== 'text')
  return [
    'FORMAT csv',
    header,
    delimiter === '\t' ? "DELIMITER E'\\t'" : delimiter !== ',' && `DELIMITER '${delimiter}'`,
    // A character that no text has.
    quote === '' && "QUOTE E'\\x01'",
    hasNullMark && "NULL '\\N'",
    encoded,
    empties.length > 0 && `FORCE_NULL (${empties.map((column) => shownName(column.name)).join(', ')})`,
  ].filter((option) => typeof option === 'string')
}

/** Names for columns, from what the header says of them: in lower case, without spaces and signs, each once. */
export function columnNames(header: readonly (string | null)[]): string[] {
  const taken = new Set(systemColumns)
  return header.map((text, at) => {
    const wanted = plainName(text ?? '') || `column_${at + 1}`
    let name = wanted
    for (let number = 2; taken.has(name); number++) name = `${cutTo(wanted, 55)}_${number}`
    taken.add(name)
    return name
  })
}

/** A name for a table, from that of the file. */
export const tableName = (fileName: string) =>
  plainName(
    fileName.replace(/^.*[/\\]/, '').replace(/(?<=.)\.(gz|csv|tsv|txt|tab|json|geojson|\.)+$/i, ''),
  ) || 'imported'

const systemColumns = ['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']

function plainName(text: string): string {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
  return cutTo(/^\p{N}/u.test(letters) ? `_${letters}` : letters, maxNameBytes)
}

/** PostgreSQL cuts longer names off, in silence. */
const maxNameBytes = 63

function cutTo(name: string, bytes: number): string {
  const { length } = new TextEncoder().encode(name)
  return length <= bytes ? name : cutTo([...name].slice(0, -1).join(''), bytes)
}

/** With those of the classic service. */
const lonNames = [
  ...['lon', 'lng', 'long', 'longitude', 'longitud', 'point_longitude'],
  ...['longitudedecimal', 'decimallongitude', 'decimallong', 'x'],
]
const latNames = [
  ...['lat', 'latitude', 'latitud', 'lati', 'point_latitude'],
  ...['latitudedecimal', 'decimallatitude', 'decimallat', 'y'],
]

/** The columns that look like longitude and latitude, unless there is a geometry. */
export function findPoints(columns: readonly Pick<ImportColumn, 'name' | 'type'>[]): Points | undefined {
  if (columns.some(({ name, type }) => type === 'geometry' || name === 'the_geom')) return undefined
  const numbers = columns.filter(({ type }) => isNumber(type)).map(({ name }) => name)
  const find = (known: readonly string[]) => known.find((name) => numbers.includes(name))
  const [lon, lat] = [find(lonNames), find(latNames)]
  return lon !== undefined && lat !== undefined ? { lon, lat } : undefined
}

export const isNumber = (type: string) =>
  /^(bigint|integer|smallint|double precision|real|numeric)\b/.test(type)

/**
 * The line for a shell that loads what is not read here: other formats, and GeoJSON that is too large. Without
 * GEOMETRY_NAME, GDAL would name the geometry as in the file, which its Carto driver then does not find in the table.
 */
export function ogr2ogrLine(file: string, to: Readonly<{ sqlUrl: string; username: string }>): string {
  const table = tableName(file.replace(/(\.(shp|gdb|tar))?\.\w+$/i, ''))
  return `CARTO_API_URL=${quoteShell(to.sqlUrl)} CARTO_API_KEY="$CARTAGE_API_KEY" \\
  ogr2ogr -f CARTO ${quoteShell(`CARTO:${to.username}`)} ${quoteShell(archiveFolder(file) + file)} -nln ${quoteShell(table)} \\
  -t_srs EPSG:4326 -lco GEOMETRY_NAME=the_geom`
}

/** GDAL reads the files in an archive under these paths. */
function archiveFolder(file: string): string {
  if (/\.zip$/i.test(file)) return '/vsizip/'
  return /\.(tar|tgz|tar\.gz)$/i.test(file) ? '/vsitar/' : ''
}
