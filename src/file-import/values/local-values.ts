/**
 * Values as people write them: `1.234,50`, `31/12/2026`. COPY does not read them, so they are written anew before they are
 * sent.
 * - `comma`: numbers with a decimal comma; a point, a space or an apostrophe between thousands
 * - `point`: numbers with a decimal point; a comma, a space or an apostrophe between thousands
 * - `dmy`, `mdy`: the day first, or the month
 */
export type ValueForm = 'comma' | 'point' | 'dmy' | 'mdy'

/** Numbers without a plain space: `555 123 456` may be a telephone number, unless it has a fraction. */
const numbers = {
  comma:
    /^-?(?:(?!0)\d{1,3}(?:([.\u00a0\u202f'])\d{3})(?:\1\d{3})*(?:,\d+)?|(?!0)\d{1,3}(?: \d{3})+,\d+|(?!0\d)\d+(?:,\d+)?)$/,
  point:
    /^-?(?:(?!0)\d{1,3}(?:([,\u00a0\u202f'])\d{3})(?:\1\d{3})*(?:\.\d+)?|(?!0)\d{1,3}(?: \d{3})+\.\d+|(?!0\d)\d+(?:\.\d+)?)$/,
} as const

/** A number in the form that PostgreSQL reads; undefined if it is not written in this form. */
export function plainNumber(text: string, form: 'comma' | 'point'): string | undefined {
  if (!numbers[form].test(text)) return undefined
  const digits =
    form === 'comma' ? text.replace(/[.\u00a0\u202f' ]/g, '') : text.replace(/[,\u00a0\u202f' ]/g, '')
  return form === 'comma' ? digits.replace(',', '.') : digits
}

/** Whether a number can be read only so: `1,5` has a decimal comma, `1,234` may have one, `1.234.567` may be an address. */
export function tellsForm(text: string, form: 'comma' | 'point'): boolean {
  const isOther = numbers[form === 'comma' ? 'point' : 'comma'].test(text)
  return !isOther && text.includes(',')
}

const day =
  /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,6})?))?(?: ?([AaPp])[Mm])?)?$/

/** A date or time in ISO 8601; undefined if there is no such day in this order. With points the day is first. */
export function plainDate(text: string, form: 'dmy' | 'mdy'): string | undefined {
  const [, first, separator, second, year, hour, minute, seconds = '00', half] = day.exec(text) ?? []
  if (first === undefined || (separator === '.' && form === 'mdy')) return undefined
  const [dayOfMonth, month] = form === 'dmy' ? [first, second!] : [second!, first]
  if (!isDay(Number(year), Number(month), Number(dayOfMonth))) return undefined
  const date = `${year}-${month.padStart(2, '0')}-${dayOfMonth.padStart(2, '0')}`
  if (hour === undefined) return date
  const hours = hourOf(Number(hour), half?.toLowerCase())
  if (hours === undefined || Number(minute) > 59 || Number(seconds) >= 60) return undefined
  return `${date} ${String(hours).padStart(2, '0')}:${minute}:${seconds}`
}

function hourOf(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour > 23 ? undefined : hour
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half === 'p' ? 12 : 0)
}

const monthDays = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function isDay(year: number, month: number, dayOfMonth: number): boolean {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || dayOfMonth < 1) return false
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return dayOfMonth <= (month === 2 && !isLeap ? 28 : monthDays[month]!)
}

/** The value as PostgreSQL reads it; unchanged if it is not written in the form. */
export function plainValue(text: string, form: ValueForm): string {
  const value = text.trim()
  const plain = form === 'comma' || form === 'point' ? plainNumber(value, form) : plainDate(value, form)
  return plain ?? text
}
