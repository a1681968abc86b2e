import type { FileTable, TableColumn } from '../../convert/gdal-formats.ts'
import type { FileColumn, Seen } from './file-columns.ts'
import type { FileRules } from './file-rules.ts'

type SeenRows = Readonly<{
  columns: readonly FileColumn[]
  kinds: readonly string[]
  /** As the query names it. */
  geometry: string | undefined
  /** Of its values, those that are not in longitude and latitude. */
  far: Seen
  /** Those with longitudes that the format changes. */
  turned: Seen
  /** Of the columns, the further geometries. */
  shapes: readonly FileColumn[]
  /** Geometries that the file does not have. */
  leftOut: readonly string[]
}>

/** The table of a file, and what the file does not hold as the query had it. */
export type WrittenTable = FileTable &
  Readonly<{
    warnings: readonly string[]
    /** A text to go with the file, if there is room for one. */
    notes: string | undefined
  }>

export function tableOf(
  format: string,
  rules: FileRules,
  { columns, kinds, geometry, far, turned, shapes, leftOut }: SeenRows,
): WrittenTable {
  for (const column of columns) if (rules.numbers === 'dbf') fitField(column)
  const id = columns.find(({ name, kind }) => name === 'cartodb_id' && (kind === 'short' || kind === 'whole'))
  const warnings = [
    ...leftOut.map((name) => `${format} has no geometries: ${name} is left out`),
    ...(far.count > 0
      ? [`column ${geometry}: ${values(far)} not in longitude and latitude, without a reference system`]
      : []),
    ...(turned.count > 0
      ? [`column ${geometry}: ${values(turned)} brought to longitudes from -180 to 180`]
      : []),
    ...shapes.map(({ name }) => `column ${name} is text (EWKT): ${format} has one geometry for each row`),
    ...columns.flatMap((column) => warningsOf(format, column, rules)),
  ]
  return {
    columns: columns.map((column, at) => tableColumn(column, at, rules)),
    hasGeometry: geometry !== undefined,
    kinds,
    idColumn: id && id.nulls === 0 && !id.isText ? id.name : undefined,
    notes: notesOf(columns, warnings),
    warnings,
  }
}

/** The list of names that became shorter, and all warnings. */
function notesOf(columns: readonly FileColumn[], warnings: readonly string[]): string | undefined {
  const renamed = columns.filter(({ name, queryName }) => name !== queryName)
  if (renamed.length === 0 && warnings.length === 0) return undefined
  const names = renamed.map(({ name, queryName }) => `${name}\t${queryName}`)
  return [...names, ...(names.length > 0 && warnings.length > 0 ? [''] : []), ...warnings, ''].join('\n')
}

/** Chooses the digits behind the point of a field of DBF, which has 24 characters. */
function fitField(column: FileColumn): void {
  if (column.kind !== 'float' && column.kind !== 'numeric') return
  const room = Math.min(mostDecimals, fieldWidth - 2 - column.wholeDigits)
  if (room < 0) column.isText = true
  else if (column.decimals > room) column.isCutShort = true
  column.decimals = Math.max(0, room)
}

/** Of a number with digits behind the point in DBF. */
export const fieldWidth = 24
const mostDecimals = 15

function tableColumn(column: FileColumn, at: number, rules: FileRules): TableColumn {
  const { name, kind } = column
  const type = typeOf(column, rules)
  return { name, source: `c${at}`, isPrefixed: kind === 'text', type }
}

function typeOf({ kind, isText }: FileColumn, rules: FileRules): TableColumn['type'] {
  if (isText) return 'String'
  switch (kind) {
    case 'short':
      return 'Integer'
    case 'whole':
      return rules.numbers === 'text' ? 'String' : 'Integer64'
    case 'float':
    case 'numeric':
      return rules.numbers === 'text' ? 'String' : 'Real'
    case 'boolean':
      return 'Integer(Boolean)'
    case 'date':
      return rules.dates === 'text' ? 'String' : 'Date'
    case 'timestamp':
    case 'timestamptz':
      return rules.times === 'text' ? 'String' : 'DateTime'
    default:
      return 'String'
  }
}

function warningsOf(format: string, column: FileColumn, rules: FileRules): string[] {
  const { name, queryName, kind, isText, rounded, cut, blank } = column
  const warnings: string[] = []
  if (name !== queryName) warnings.push(`column ${queryName} is named ${name}`)
  if (isText && kind !== 'date' && !kind.startsWith('timestamp'))
    warnings.push(`column ${name} is text: ${format} has no number for all its digits`)
  else if (rounded.count > 0) {
    const digits = rules.numbers === 'digits15' ? '15 digits' : 'the digits of a number with 64 bits'
    warnings.push(`column ${name}: ${values(rounded)} rounded to ${digits}`)
  }
  if (column.isCutShort && !isText)
    warnings.push(`column ${name}: values rounded to ${column.decimals} digits behind the point`)
  if (blank.count > 0)
    warnings.push(`column ${name}: ${values(blank)} lost: ${format} has no empty texts or spaces at the end`)
  if (cut.count > 0) {
    const length = kind === 'text' ? `${rules.cutBytes} bytes` : 'milliseconds'
    warnings.push(`column ${name}: ${values(cut)} cut to ${length}`)
  }
  return warnings
}

const values = ({ count, row }: Seen) =>
  `${count} ${count === 1 ? 'value' : 'values'}, the first in row ${row},`
