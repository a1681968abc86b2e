import type { RejectedRow } from '../contract/documents.ts'

/** Of an import. */
type WithPoints = Readonly<{ points?: unknown; isNew: boolean }>

/**
 * Rows for a table that is there have their point with them, before the first value of the file: then an updated row gets its
 * new point, and a row that is kept keeps its own.
 */
export const hasPointField = ({ points, isNew }: WithPoints): boolean => points !== undefined && !isNew

/** A point in longitude and latitude, as hexadecimal EWKB: no sign of it can be a delimiter. */
export function pointText(lon: number, lat: number): string {
  const view = new DataView(new ArrayBuffer(16))
  view.setFloat64(0, lon, true)
  view.setFloat64(8, lat, true)
  let text = pointHeading
  for (let at = 0; at < 16; at++) text += digits[view.getUint8(at)]!
  return text
}

/** The number that PostgreSQL reads in a text; undefined: there is none that a point can have. */
export function coordinateOf(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const number = Number(text.replaceAll('_', ''))
  return Number.isFinite(number) ? number : undefined
}

/** Rows that were left out, as they stand in the file. */
export function withoutPointField(
  plan: WithPoints & Readonly<{ dialect: Readonly<{ delimiter: string }> }>,
  rejected: readonly RejectedRow[],
): readonly RejectedRow[] {
  if (!hasPointField(plan)) return rejected
  const { delimiter } = plan.dialect
  return rejected.map((row) => ({ ...row, text: row.text.slice(row.text.indexOf(delimiter) + 1) }))
}

/** Of a point with the SRID 4326, the least significant byte first. */
const pointHeading = '0101000020E6100000'
const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0').toUpperCase())
