import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import {
  columnNames,
  findPoints,
  type ImportColumn,
  type ImportPlan,
  isNumber,
  type Points,
  tableName,
} from '../../src/file-import/import-plan.ts'
import type { InferredColumn } from '../../src/file-import/infer-types.ts'
import type { CatalogTable } from '../api/catalog.ts'
import type { FileHead, FileReading } from './file-protocol.ts'

/** What the user has chosen; the rest comes from the file. Columns by their position in the file. */
export type WantedImport = Readonly<{
  table: string
  /** The existing table that gets the rows. undefined: a new table. */
  target: CatalogTable | undefined
  names: Readonly<Record<number, string>>
  types: Readonly<Record<number, string>>
  /** null: no points. undefined: as found in the file. */
  points: Points | null | undefined
  isPrepared: boolean
}>

export const wantedFor = (file: File): WantedImport => ({
  table: tableName(file.name),
  target: undefined,
  names: {},
  types: {},
  points: undefined,
  isPrepared: true,
})

export type PlannedColumn = ImportColumn & Readonly<{ reason: string }>

/** The import plan, and the problems that prevent it. */
export type Planned = Readonly<{
  plan: ImportPlan
  columns: readonly PlannedColumn[]
  possiblePoints: Points | undefined
  problems: readonly string[]
}>

export function planImport(head: FileHead, reading: FileReading, wanted: WantedImport): Planned {
  const columns = plannedColumns(head, reading, wanted)
  const possiblePoints = hasPlaceForPoints(wanted.target) ? pointsFor(columns, wanted.points) : undefined
  const plan: ImportPlan = {
    schema: wanted.target?.schema,
    table: wanted.target?.name ?? wanted.table,
    isNew: wanted.target === undefined,
    columns,
    dialect: head.dialect,
    hasNullMark: reading.inference.hasNullMark,
    points: wanted.points === null ? undefined : possiblePoints,
    isPrepared: wanted.isPrepared && wanted.target === undefined,
  }
  return { plan, columns, possiblePoints, problems: problemsOf(plan, wanted, reading) }
}

function plannedColumns(
  { rows, dialect }: FileHead,
  { inference, isWhole }: FileReading,
  { names, types, target }: WantedImport,
): PlannedColumn[] {
  const known = columnNames(headerOf(rows, dialect))
  return known.map((named, at) => {
    const name = names[at] ?? named
    const inferred: InferredColumn | undefined = inference.columns[at]
    // What was not read yet may contain one.
    const hasQuotedEmpty = !isWhole || (inferred?.hasQuotedEmpty ?? true)
    const given = target && {
      type: typeIn(target, name) ?? 'text',
      reason: `Type of the column in ${target.name}`,
    }
    const chosen = types[at] && { type: types[at], reason: 'Chosen by you' }
    const { type, reason } = given ?? (chosen || undefined) ?? inferred ?? unknown
    return { name, type, reason, hasQuotedEmpty }
  })
}

const unknown = { type: 'text', reason: 'Not read yet' }

export const headerOf = (rows: FileHead['rows'], { hasHeader }: CsvDialect) =>
  hasHeader ? (rows[0] ?? []) : (rows[0] ?? []).map(() => null)

export const typeIn = (table: CatalogTable, column: string) =>
  table.columns.find(({ name }) => name === column)?.type

const hasPlaceForPoints = (target: CatalogTable | undefined) =>
  !target || typeIn(target, 'the_geom') !== undefined

/** The chosen columns if they are numbers, else those found by name. */
function pointsFor(columns: readonly ImportColumn[], chosen: Points | null | undefined): Points | undefined {
  const isColumn = (wanted: string) => columns.some(({ name, type }) => name === wanted && isNumber(type))
  return chosen && isColumn(chosen.lon) && isColumn(chosen.lat) ? chosen : findPoints(columns)
}

function problemsOf(plan: ImportPlan, { target }: WantedImport, reading: FileReading): string[] {
  const { table, columns } = plan
  const { inference, isEncodingRight } = reading
  const names = columns.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  const missing = target ? names.filter((name) => typeIn(target, name) === undefined) : []
  const { badLine } = inference
  return [
    table.trim() === '' && 'The table needs a name.',
    names.some((name) => name.trim() === '') && 'Every column needs a name.',
    twice !== undefined && `Two columns are called ${twice}.`,
    columns.length > 1600 && `PostgreSQL allows 1,600 columns, the file has ${columns.length}.`,
    missing.length > 0 &&
      `${target!.name} has no column ${missing.slice(0, 5).join(', ')}: rename it, or choose a new table.`,
    !isEncodingRight && 'Some bytes are invalid in this encoding. Choose another encoding.',
    badLine &&
      `Line ${badLine.line.toLocaleString('en-US')}: ${badLine.message} PostgreSQL would refuse the file.`,
  ].filter((problem) => typeof problem === 'string')
}
