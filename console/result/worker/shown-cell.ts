import { shownValue } from '../../../src/contract/text/json-rows.ts'
import { shownGeometry } from '../../geo/shown-geometry.ts'
import type { ResultColumn } from './protocol.ts'

/** More than a cell can show. Longer values are cut before they are sent to the page. */
export const longestShown = 500

/** The text of a cell in the grid. Copying and the panel of the cell have the full value. */
export function shownCell(raw: string | undefined, { type, pgtype }: ResultColumn): string | null {
  if (raw === undefined) return null
  const special = type === 'geometry' ? shownGeometry(raw.slice(1, -1)) : undefined
  const value = special ?? shorten(raw)
  return type === 'date' && value !== null ? shownTime(value, pgtype) : value
}

const isoTime = /^(\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d(?::\d\d)*)$/

/**
 * A day as `2026-01-31`, a time as `2026-01-31 10:00:00`, with its zone if it has one. The service sends all of them as
 * ISO 8601 with a zone, which is true only for a timestamptz.
 */
export function shownTime(value: string, pgtype: string | undefined): string {
  const found = isoTime.exec(value)
  if (!found) return value
  const [, day, time, zone] = found
  if (pgtype === 'date') return day!
  return pgtype === 'timestamptz' ? `${day} ${time} ${zone === 'Z' ? 'UTC' : zone}` : `${day} ${time}`
}

/** A guess until the service sends the type, at the end of the answer. */
export function guessColumn(name: string, raw: string): ResultColumn {
  if (/^-?\d/.test(raw)) return { name, type: 'number', pgtype: undefined }
  if (raw === 'true' || raw === 'false') return { name, type: 'boolean', pgtype: undefined }
  if (/^"0[01][0-9A-F]{40}/.test(raw)) return { name, type: 'geometry', pgtype: undefined }
  const isTime = isoTime.test(raw.slice(1, -1))
  return { name, type: isTime ? 'date' : 'string', pgtype: raw.endsWith('T00:00:00Z"') ? 'date' : undefined }
}

function shorten(raw: string): string | null {
  // An escape such as \u00e9 has six characters.
  const value = shownValue(raw.length > longestShown * 8 && raw.startsWith('"') ? cutString(raw) : raw)
  return value === null || value.length <= longestShown ? value : `${value.slice(0, longestShown - 1)}…`
}

/** The beginning of a JSON string, not cut within an escape. */
function cutString(raw: string): string {
  const cut = raw.slice(0, longestShown * 8).replace(/\\u[0-9a-f]{0,3}$/i, '')
  const backslashes = /\\*$/.exec(cut)![0].length
  return `${backslashes % 2 === 1 ? cut.slice(0, -1) : cut}"`
}
