import type { Format } from '../contract/formats.ts'
import type { Paging } from '../sql/query-kind.ts'

/** What the SQL endpoint is asked for. */
export type Query = Readonly<{
  sql: string
  /** The values of `$1`, `$2`, ..., each as its JSON text; undefined: the simple protocol. */
  params: readonly string[] | undefined
  format: Format
  paging: Paging | undefined
  skippedFields: ReadonlySet<string>
  /** Decimal digits of GeoJSON coordinates. */
  decimals: number
  /** Without extension; undefined if the client did not ask for a file. */
  filename: string | undefined
}>
