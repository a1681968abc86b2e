import type { ChartLabel } from './chart-data.ts'

/** Longer names are cut before they are drawn or announced. */
const longestName = 200

/** A name of the data. Characters that XML forbids are replaced, so that a saved picture can be read. */
export function labelOf(value: string | null): ChartLabel {
  if (value === null) return { text: 'NULL', isSaid: true }
  if (value === '') return { text: 'empty text', isSaid: true }
  const letters = [...value.slice(0, 4 * longestName)]
  const cut = letters.length > longestName ? `${letters.slice(0, longestName - 1).join('')}…` : value
  return { text: cut.replace(/[\r\n]+/g, ' ⏎ ').replace(notDrawn, '\ufffd'), isSaid: false }
}

export const saidLabel = (text: string): ChartLabel => ({ text, isSaid: true })

const notDrawn = /\p{Cc}|\p{Cs}|[\ufffe\uffff]/gu

/** A number with up to 12 digits, an integer with up to 15: `1,234.5`, `1.5e+21`. */
export function numberText(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return String(Number(value.toPrecision(12)))
  return value.toLocaleString('en-US', { maximumSignificantDigits: Number.isInteger(value) ? 15 : 12 })
}

/** A number on the x axis, which may be a year or an id: `2026`, `20,000`. */
export const placeText = (value: number) =>
  Math.abs(value) < 10_000 ? numberText(value).replace(',', '') : numberText(value)

/** A time in UTC without trailing zeros: `2026-01-31`, `2026-01-31 10:00`. */
export function timeText(time: number, hasZone: boolean): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return ''
  const text = date.toISOString().replace('T', ' ').replace('Z', '')
  const short = text.replace(/(:00)?\.000$/, '').replace(/(\.\d*?)0+$/, '$1')
  const day = hasZone ? short : short.replace(/ 00:00$/, '')
  return hasZone ? `${day} UTC` : day
}
