import type { Total } from '../contract/formats.ts'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { BoundText } from '../postgres/wire/bound-query.ts'
import type { WireText } from '../postgres/wire/wire-query.ts'
import { maxCharacters } from '../sql/grammar.ts'
import { containsCopy, pageableStatement, wrapForPaging } from '../sql/query-kind.ts'
import { parseStatements } from '../sql/statements.ts'
import { usualGeometry } from './geometry-column.ts'
import type { Query } from './query.ts'
import { geojsonColumn } from './rows/geojson-format.ts'
import { svgStatement } from './rows/svg-format.ts'

/** The text to send, and the position of the caller's text in it. */
export type PreparedStatement = Readonly<{
  text: string
  place: () => TextPlace
  /** The hint for an error in the text around it. */
  hintAround: string | undefined
  /** Number of parameter values; undefined: uses the simple protocol. */
  valueCount: number | undefined
}>

/** In characters: the range `start` to `end` of the caller's text is sent, moved to the right by `shift`. */
export type TextPlace = Readonly<{ start: number; end: number; shift: number }>

/** The caller's text itself, or wrapped as paging and GeoJSON need it. */
export function prepareStatement(query: Query): PreparedStatement {
  if (containsCopy(query.sql)) throw errors.copyElsewhere()
  if (query.counting) return countingStatement(query, query.counting)
  const paged = query.paging ? wrapForPaging(query.sql, query.paging) : query.sql
  const select = () => (paged === query.sql ? selectOf(paged, query.format) : paged)
  const text = wrapForFormat(query, select) ?? paged
  const place = () => (text === query.sql ? asItIs : placeIn(text, query.sql))
  return { text, place, hintAround: hintAround(query), valueCount: query.params?.length }
}

/**
 * The cleaning of the connection is sent with the text, in one packet. Not with a text that may leave a transaction
 * open, where it would fail, nor with a COPY, which would take it for data, nor with one that is too long to search.
 */
export function messagesOf(
  text: string | Buffer,
  bind: BoundText['bind'] | undefined,
  cleaning: readonly string[],
): readonly WireText[] {
  const statement = bind ? { text, bind } : text
  const isAlone = typeof text === 'object' || text.length > maxCharacters || /begin|start|copy/i.test(text)
  return isAlone ? [statement] : [statement, ...cleaning]
}

function countingStatement(query: Query, total: Total): PreparedStatement {
  const { sql, params } = query
  const rows = pageableStatement(sql)?.text
  const parsed = parseStatements(sql)
  if (rows === undefined && (parsed.ok || parsed.code !== 'syntax-error'))
    throw errors.badRequest('total needs a single SELECT')
  // In parentheses, what cannot be parsed runs nothing: PostgreSQL itself reports what is wrong with it.
  const text =
    rows !== undefined && total === 'estimate'
      ? `EXPLAIN (FORMAT JSON)\n${rows}`
      : `SELECT pg_catalog.count(*) AS total FROM (\n${rows ?? sql}\n) AS cartage_rows`
  return { text, place: () => placeIn(text, sql), hintAround: undefined, valueCount: params?.length }
}

function wrapForFormat(query: Query, select: () => string): string | undefined {
  const { format, decimals, around, geometryColumn } = query
  if (around) return `SELECT ${around.list} FROM ${onceEach(select())} AS cartage_rows ${around.after}`
  const name = geometryColumn === undefined ? usualGeometry : quoteName(geometryColumn)
  if (format === 'svg') return svgStatement(select(), `${name}::postgis.geometry`, decimals)
  if (format !== 'geojson' && format !== 'topojson') return undefined
  // The usual one is in longitude and latitude, and may be a text.
  const isUsual = geometryColumn === undefined
  const geometry = isUsual ? name : inLonLat(`${name}::postgis.geometry`)
  const shape = `postgis.ST_AsGeoJSON(${geometry}, ${decimals}) AS ${geojsonColumn}`
  const rows = isUsual ? `(\n${select()}\n)` : onceEach(select())
  return `SELECT ${shape}, * FROM ${rows} AS cartage_features`
}

/** The rows of a SELECT. PostgreSQL computes each value once, although our columns name it several times. */
const onceEach = (select: string) => `(SELECT * FROM (\n${select}\n) AS cartage_query OFFSET 0)`

/** A geometry without a reference system stays as it is. */
export const inLonLat = (geometry: string) =>
  `CASE WHEN postgis.ST_SRID(${geometry}) IN (0, 4326) THEN ${geometry} ELSE postgis.ST_Transform(${geometry}, 4326) END`

function selectOf(text: string, format: string): string {
  const statement = pageableStatement(text)
  if (statement) return statement.text
  if (parseStatements(text).ok) throw errors.badRequest(`The format ${format} needs a single SELECT`)
  // Let PostgreSQL itself report what is wrong with it.
  return text
}

const asItIs: TextPlace = { start: 0, end: Number.POSITIVE_INFINITY, shift: 0 }

/** For a text that is too long to search. */
const nowhere: TextPlace = { start: Number.POSITIVE_INFINITY, end: 0, shift: 0 }

/** PostgreSQL counts characters; a string has UTF-16 units. */
function placeIn(wrapped: string, original: string): TextPlace {
  if (original.length > maxCharacters) return nowhere
  const inner = pageableStatement(original)?.text ?? original
  const before = (text: string) => countCharacters(text, text.indexOf(inner))
  const start = before(original)
  return { start, end: start + countCharacters(inner), shift: before(wrapped) - start }
}

function countCharacters(text: string, end = text.length): number {
  let count = end
  // The second half of a surrogate pair.
  for (let at = 0; at < end; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count -= 1
  return count
}

function hintAround({ paging, format, around }: Query): string | undefined {
  if (paging?.orderBy !== undefined) return 'order_by must be the name of a column of the result'
  if (around) return `The format ${format} needs a single SELECT`
  return format === 'geojson' || format === 'svg' || format === 'topojson'
    ? `The format ${format} needs a geometry column, such as ${usualGeometry}`
    : undefined
}
