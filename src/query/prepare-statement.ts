import { errors } from '../errors.ts'
import { containsCopy, pageableStatement, wrapForPaging } from '../sql/query-kind.ts'
import { parseStatements } from '../sql/statements.ts'
import { geojsonColumn, geometryColumn } from './geojson-format.ts'
import type { Query } from './read-query.ts'

/** What is sent, and by how many characters the caller's text has moved to the right in it. */
export type PreparedStatement = Readonly<{ text: string; shift: number }>

/** The caller's text as it is, or inside what paging and GeoJSON need around it. */
export function prepareStatement(query: Query): PreparedStatement {
  if (containsCopy(query.sql)) throw errors.copyElsewhere()
  const paged = query.paging ? wrapForPaging(query.sql, query.paging) : query.sql
  const text = query.format === 'geojson' ? wrapForGeojson(paged, query.decimals) : paged
  return { text, shift: text === query.sql ? 0 : shiftOf(query.sql, text) }
}

function wrapForGeojson(text: string, decimals: number): string {
  const geometry = `public.ST_AsGeoJSON(${geometryColumn}, ${decimals}) AS ${geojsonColumn}`
  return `SELECT ${geometry}, * FROM (\n${selectOf(text)}\n) AS cartage_features`
}

function selectOf(text: string): string {
  const statement = pageableStatement(text)
  if (statement) return statement.text
  if (parseStatements(text).ok) throw errors.badRequest('The format geojson needs a single SELECT')
  // PostgreSQL itself shall say what is wrong with it.
  return text
}

function shiftOf(original: string, wrapped: string): number {
  const inner = pageableStatement(original)?.text ?? original
  return wrapped.indexOf(inner) - original.indexOf(inner)
}
