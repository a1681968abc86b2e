import type { FileTable, TableColumn } from '../../convert/write-file.ts'
import type { FileColumn, Seen } from './file-columns.ts'
import type { FileRules } from './file-rules.ts'

type SeenRows = Readonly<{
  columns: readonly FileColumn[]
  kinds: readonly string[]
  hasGeometry: boolean
  hidesGeometry: boolean
}>

/** The table for the converter, and what the file does not hold as the query had it. */
export function tableOf(
  format: string,
  rules: FileRules,
  { columns, kinds, hasGeometry, hidesGeometry }: SeenRows,
): FileTable & Readonly<{ warnings: readonly string[] }> {
  const id = columns.find(({ name, kind }) => name === 'cartodb_id' && (kind === 'short' || kind === 'whole'))
  return {
    columns: columns.map((column, at) => tableColumn(column, at, rules)),
    hasGeometry,
    kinds,
    idColumn: id && id.nulls === 0 && !id.isText ? id.name : undefined,
    warnings: [
      ...(hidesGeometry ? [`${format} has no geometries: the_geom is left out`] : []),
      ...columns.flatMap((column) => warningsOf(format, column, rules)),
    ],
  }
}

function tableColumn(column: FileColumn, at: number, rules: FileRules): TableColumn {
  const { name, kind } = column
  const source = `c${at}`
  return { name, source, isPrefixed: kind === 'text', type: typeOf(column, rules) }
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
  const { name, queryName, kind, isText, rounded, cut } = column
  const warnings: string[] = []
  if (name !== queryName) warnings.push(`column ${queryName} is named ${name}`)
  if (isText && kind !== 'date' && !kind.startsWith('timestamp'))
    warnings.push(`column ${name} is text: ${format} has no number for all its digits`)
  else if (rounded.count > 0) {
    const digits = rules.numbers === 'digits15' ? '15 digits' : 'the digits of a number with 64 bits'
    warnings.push(`column ${name}: ${values(rounded)} rounded to ${digits}`)
  }
  if (cut.count > 0) {
    const length = kind === 'text' ? `${rules.cutBytes} bytes` : 'milliseconds'
    warnings.push(`column ${name}: ${values(cut)} cut to ${length}`)
  }
  return warnings
}

const values = ({ count, row }: Seen) =>
  `${count} ${count === 1 ? 'value' : 'values'}, the first in row ${row},`
