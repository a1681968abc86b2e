import { quoteLiteral, rowsOf, shownName } from '../../api/sql.ts'
import type { ResultColumn } from '../../result/worker/protocol.ts'

/** The rows of a statement in which a column has this value. The type of the column reads the text. */
export const onlyTheseRows = (statement: string, column: string, value: string | null) =>
  `select * from ${rowsOf(statement)}\nwhere ${shownName(column)} ${value === null ? 'is null' : `= ${quoteLiteral(value)}`}`

/** After spaces, comments and parentheses. Each begins with other characters, so that no text takes long. */
const isQuery = /^(?:[\s(]|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(select|with|values|table)\b/i
/** They have no =, or one that compares areas or counts points; and their arrays. */
const hasNoEquality = /^_?(json|xml|point|polygon|box|circle|path|raster|geometry|geography)$/
const longestValue = 1_000

/** Undefined if `onlyTheseRows` works for a value of a column. */
export function whyNotOnly(
  statement: string,
  columns: readonly ResultColumn[],
  { at, value }: Readonly<{ at: number; value: string | null }>,
): string | undefined {
  const { name, type, pgtype = '' } = columns[at]!
  if (!isQuery.test(statement)) return 'Only the rows of a SELECT can be filtered'
  if (columns.filter((column) => column.name === name).length > 1)
    return `The result has several columns ${name}`
  if (type === 'geometry' || hasNoEquality.test(pgtype))
    return `Values of type ${pgtype || type} cannot be compared`
  return value !== null && value.length > longestValue ? 'The value is too long' : undefined
}
