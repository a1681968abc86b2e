import type { FileColumn } from '../files/file-columns.ts'
import { fieldWidth } from '../files/file-table.ts'

/** A field of a DBF. `N`: a number, at the right of the field. `C`: a text, at the left. `D`: a date of 8 digits. */
export type DbfField = Readonly<{ name: string; type: 'N' | 'C' | 'D'; width: number; decimals: number }>

/** Call it when all values were seen. */
export function dbfFields(columns: readonly FileColumn[]): DbfField[] {
  // A DBF has at least one field.
  return columns.length === 0 ? [rowNumber] : columns.map(fieldOf)
}

function fieldOf({ name, kind, isText, longestBytes, decimals }: FileColumn): DbfField {
  const field = (type: DbfField['type'], width: number) => ({ name, type, width, decimals: 0 })
  if (isText) return field('C', Math.max(1, longestBytes))
  switch (kind) {
    case 'short':
      return field('N', Math.max(usualDigits, longestBytes))
    case 'whole':
      return field('N', mostDigits)
    case 'float':
    case 'numeric':
      return { ...field('N', fieldWidth), decimals }
    case 'boolean':
      return field('N', 1)
    case 'date':
      return field('D', 8)
    default:
      return field('C', Math.max(1, longestBytes))
  }
}

/** Has the numbers of the rows, from 0. */
export const rowNumber: DbfField = { name: 'FID', type: 'N', width: 11, decimals: 0 }

/** The bytes of a record. Each begins with a mark that says whether it was deleted. */
export const recordBytes = (fields: readonly DbfField[]) => fields.reduce((sum, { width }) => sum + width, 1)

export function dbfHeading(fields: readonly DbfField[], rows: number, day: Date): Buffer {
  const length = 32 + 32 * fields.length + 1
  const heading = Buffer.alloc(length)
  heading.set([3, day.getUTCFullYear() - 1900, day.getUTCMonth() + 1, day.getUTCDate()])
  heading.writeUInt32LE(rows, 4)
  heading.writeUInt16LE(length, 8)
  heading.writeUInt16LE(recordBytes(fields), 10)
  for (const [place, { name, type, width, decimals }] of fields.entries()) {
    const at = 32 + 32 * place
    heading.write(name, at)
    heading.write(type, at + 11, 'latin1')
    heading[at + 16] = width
    heading[at + 17] = decimals
  }
  heading[length - 1] = carriageReturn
  return heading
}

export const endOfDbf = 0x1a

/** Writes a value into its field of `target`, which is full of spaces. `length` below 0: NULL. */
export function writeField(
  target: Buffer,
  at: number,
  { type, width, decimals }: DbfField,
  source: Buffer,
  start: number,
  length: number,
): void {
  if (length < 0) {
    if (type !== 'C') target.fill(type === 'N' ? star : digitZero, at, at + width)
    return
  }
  if (type === 'C') copy(target, at, source, start, length)
  else if (type === 'D') {
    copy(target, at, source, start, 4)
    copy(target, at + 4, source, start + 5, 2)
    copy(target, at + 6, source, start + 8, 2)
  } else if (decimals === 0 && width !== fieldWidth) copy(target, at + width - length, source, start, length)
  else writeDecimal(target, at, width, decimals, source.toString('latin1', start, start + length))
}

/** As PostgreSQL writes it, with zeros behind; rounded if it has more digits or an exponent. */
function writeDecimal(target: Buffer, at: number, width: number, decimals: number, text: string): void {
  const point = text.indexOf('.')
  const behind = point < 0 ? 0 : text.length - point - 1
  const isPlain = behind <= decimals && !/e/i.test(text)
  const written = isPlain
    ? text + (point < 0 && decimals > 0 ? '.' : '') + '0'.repeat(decimals - behind)
    : rounded(Number(text), decimals).slice(0, width)
  target.write(written, at + width - written.length, 'latin1')
}

/** It may get one more digit before the point. */
const rounded = (value: number, decimals: number) =>
  Math.abs(value) < 1e21 ? value.toFixed(decimals) : String(BigInt(value))

function copy(target: Buffer, at: number, source: Buffer, start: number, length: number): void {
  if (length > shortBytes) {
    source.copy(target, at, start, start + length)
    return
  }
  for (let offset = 0; offset < length; offset += 1) target[at + offset] = source[start + offset]!
}

/** Of a whole number. Readers take longer fields for numbers of 64 bits. */
const usualDigits = 9
const mostDigits = 18
const [carriageReturn, star, digitZero] = [0x0d, 0x2a, 0x30] as const
const shortBytes = 48
