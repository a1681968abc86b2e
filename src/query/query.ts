import type { SqlFormat, Total } from '../contract/formats.ts'
import type { Paging } from '../sql/query-kind.ts'

/** `SELECT list FROM (...) AS cartage_rows after`. */
export type Around = Readonly<{ list: string; after: string }>

/** A request to the SQL endpoint. */
export type Query = Readonly<{
  sql: string
  /** The values of `$1`, `$2`, ..., each as JSON text; undefined: the simple protocol. */
  params: readonly string[] | undefined
  format: SqlFormat
  paging: Paging | undefined
  skippedFields: ReadonlySet<string>
  /** Decimal digits of GeoJSON coordinates. */
  decimals: number
  /** Another SELECT reads the rows of the caller's. */
  around?: Around | undefined
  /** What GeoJSON, TopoJSON and SVG draw, if it is not `the_geom`. */
  geometryColumn?: string | undefined
  /** Without extension; undefined if the client did not ask for a file. */
  filename: string | undefined
  /** Tell the number of rows on all pages. */
  total?: Total | undefined
  /** Only count: the rows themselves are not asked for. */
  counting?: Total | undefined
}>
