import { headerOf, type ImportFile } from './import-file.ts'
import {
  columnNames,
  findPoints,
  type ImportColumn,
  type ImportPlan,
  isNumber,
  type Points,
  type RowMerge,
} from './import-plan.ts'
import type { BadLine } from './infer-types.ts'
import type { FileReading } from './read-types.ts'
import type { InferredColumn } from './values/decide-types.ts'
import type { ValueForm } from './values/local-values.ts'

/** What a person has chosen; the rest comes from the file. Columns by their position in the file. */
export type ImportWishes = Readonly<{
  schema?: string | undefined
  table: string
  /** Append to a table that exists. */
  isAppended: boolean
  /** The columns of that table, with their types; undefined if they are not known. */
  known?: ReadonlyMap<string, string> | undefined
  names: Readonly<Record<number, string>>
  types: Readonly<Record<number, string>>
  /** How dates and numbers are written that can be read in two ways. undefined: as the file tells. */
  dates?: 'dmy' | 'mdy' | undefined
  decimals?: 'comma' | 'point' | undefined
  /** Send bad rows as they are: the service leaves them out. */
  sendsBad?: boolean | undefined
  /** Of appended rows. Otherwise all are added. */
  merge?: RowMerge | undefined
  /** null: no points. undefined: as found in the file; none if rows of the table are updated, whose geometries may be others. */
  points: Points | null | undefined
  /** Of a new table. */
  isPrepared: boolean
}>

export type PlannedColumn = ImportColumn & Readonly<{ reason: string; inferred: InferredColumn | undefined }>

export type PlannedImport = Readonly<{
  plan: ImportPlan
  columns: readonly PlannedColumn[]
  /** The chosen ones if they are numbers, else those found by name. */
  possiblePoints: Points | undefined
  problems: readonly ImportProblem[]
}>

/** Why a file cannot be loaded as planned. */
export type ImportProblem =
  | Readonly<{ kind: 'no-table-name' | 'no-column-name' | 'wrong-encoding' | 'no-rows' }>
  | Readonly<{ kind: 'same-name'; name: string }>
  | Readonly<{ kind: 'too-many-columns'; count: number }>
  | Readonly<{ kind: 'missing-columns'; names: readonly string[] }>
  /** Of the key, those that the file lacks; none: no key was given. */
  | Readonly<{ kind: 'bad-key'; names: readonly string[] }>
  | Readonly<{ kind: 'bad-line' } & BadLine>

export function planImport(
  file: Pick<ImportFile, 'rows' | 'dialect'>,
  reading: FileReading,
  wishes: ImportWishes,
): PlannedImport {
  const columns = plannedColumns(columnNames(headerOf(file)), reading, wishes)
  const possiblePoints = hasPlaceForPoints(wishes) ? pointsFor(columns, wishes.points) : undefined
  const plan: ImportPlan = {
    schema: wishes.schema,
    table: wishes.table,
    isNew: !wishes.isAppended,
    columns,
    dialect: file.dialect,
    hasNullMark: reading.inference.hasNullMark,
    points:
      wishes.points || (wishes.points === undefined && !updatesRows(wishes)) ? possiblePoints : undefined,
    sendsBad: wishes.sendsBad,
    merge: wishes.isAppended ? wishes.merge : undefined,
    isPrepared: wishes.isPrepared && !wishes.isAppended,
  }
  return { plan, columns, possiblePoints, problems: problemsOf(plan, wishes, reading) }
}

function plannedColumns(
  names: readonly string[],
  { inference, isWhole }: FileReading,
  wishes: ImportWishes,
): PlannedColumn[] {
  const { names: chosenNames, types, table, known } = wishes
  return names.map((named, at) => {
    const name = chosenNames[at] ?? named
    const inferred: InferredColumn | undefined = inference.columns[at]
    // What was not read yet may contain one.
    const hasQuotedEmpty = !isWhole || (inferred?.hasQuotedEmpty ?? true)
    const read = inferred ? readingOf(inferred, wishes) : unknown
    const given = known && { type: known.get(name) ?? 'text', reason: `Type of the column in ${table}` }
    const chosen = types[at] && { type: types[at], reason: 'Chosen by you' }
    const { type, reason } = given ?? (chosen || undefined) ?? read
    const form = formFor(type, read.form)
    return { name, type, reason, hasQuotedEmpty, form, inferred }
  })
}

const unknown = { type: 'text', reason: 'Not read yet', form: undefined }

type Read = Readonly<{ type: string; reason: string; form?: ValueForm | undefined }>

/** What the column is if a person has said how such values are written. */
function readingOf(inferred: InferredColumn, { dates, decimals }: ImportWishes): Read {
  const { either = {} } = inferred
  const chosen = (dates && either[dates]) ?? (decimals && either[decimals])
  return chosen ? { ...chosen, reason: 'Read as you chose' } : inferred
}

/** Another type than the one found, of the same kind, is written in the same form; text stays as it is. */
function formFor(type: string, form: ValueForm | undefined): ValueForm | undefined {
  const isSame = form === 'dmy' || form === 'mdy' ? isDay(type) : isNumber(type)
  return isSame ? form : undefined
}

const isDay = (type: string) => /^(date|timestamp)/.test(type)

/** A new table gets the_geom. Points that were not asked for must fit into that of a table that is there. */
const hasPlaceForPoints = ({ known, points }: ImportWishes) =>
  !known || (points ? spatial : forPoints).test(known.get('the_geom') ?? '')

const spatial = /geometry|geography/
const forPoints = /^(\w+\.)?(geometry|geography)(\((Point|Geometry)(,4326)?\))?$/

const updatesRows = ({ isAppended, merge }: ImportWishes) => isAppended && merge?.onConflict === 'update'

function pointsFor(columns: readonly ImportColumn[], chosen: Points | null | undefined): Points | undefined {
  const isColumn = (wanted: string) => columns.some(({ name, type }) => name === wanted && isNumber(type))
  return chosen && isColumn(chosen.lon) && isColumn(chosen.lat) ? chosen : findPoints(columns)
}

function problemsOf(
  plan: ImportPlan,
  { known, sendsBad }: ImportWishes,
  reading: FileReading,
): ImportProblem[] {
  const { table, columns, merge } = plan
  const { inference, isEncodingRight, isWhole } = reading
  const names = columns.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  const missing = known ? names.filter((name) => !known.has(name)) : []
  const badKey = merge?.key.filter((name) => !names.includes(name))
  const isInTheWay = inference.isCutShort || !sendsBad
  const found: (ImportProblem | false | undefined)[] = [
    table.trim() === '' && { kind: 'no-table-name' },
    names.some((name) => name.trim() === '') && { kind: 'no-column-name' },
    twice !== undefined && { kind: 'same-name', name: twice },
    columns.length > maxColumns && { kind: 'too-many-columns', count: columns.length },
    missing.length > 0 && { kind: 'missing-columns', names: missing },
    badKey && (merge?.key.length === 0 || badKey.length > 0) && { kind: 'bad-key', names: badKey },
    inference.badLine && isInTheWay && { kind: 'bad-line', ...inference.badLine },
    !isEncodingRight && { kind: 'wrong-encoding' },
    isWhole && inference.rows === 0 && { kind: 'no-rows' },
  ]
  return found.filter((problem) => typeof problem === 'object')
}

/** The limit of PostgreSQL. */
const maxColumns = 1600
