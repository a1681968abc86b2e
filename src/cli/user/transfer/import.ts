import { basename } from 'node:path'
import { onConflicts } from '../../../contract/formats.ts'
import { formatCount } from '../../../contract/text/format.ts'
import type { CsvDialect } from '../../../file-import/csv-head.ts'
import type { Encoding } from '../../../file-import/encodings.ts'
import { headerOf } from '../../../file-import/import-file.ts'
import {
  columnNames,
  type ImportPlan,
  importStatements,
  isNumber,
  type Points,
  tableName,
} from '../../../file-import/import-plan.ts'
import { type ImportWishes, planImport } from '../../../file-import/plan-import.ts'
import { type FileReading, readTypes } from '../../../file-import/read-types.ts'
import type { CommandResult } from '../../command.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { listOf, textOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { showProgress } from '../progress.ts'
import { type Service, withService } from '../service.ts'
import { readTableName } from '../table-name.ts'
import { checkPoints, columnsOf, pointsOfUpdated } from './append.ts'
import { describePlan } from './describe-plan.ts'
import { showLine } from './failed-line.ts'
import { formsOf } from './forms.ts'
import { importByService, isNamedGeojson, isReadByService } from './import-by-service.ts'
import { type ImportInput, LargeGeojsonError, openInput } from './import-input.ts'
import { checkLoadOptions, mergeOf } from './load-options.ts'
import { loadRows } from './load-rows.ts'

export const importCommand: UserCommand = {
  name: 'import',
  summary: 'create tables from CSV, GeoJSON, GeoPackage and other files',
  arguments: [
    { name: 'FILE', kind: 'file' },
    { name: 'TABLE', kind: 'table', isOptional: true },
  ],
  options: {
    append: { type: 'boolean', help: 'add the rows to an existing table; columns are matched by name' },
    layer: {
      type: 'string',
      multiple: true,
      value: 'NAME',
      help: 'only this layer or sheet of the file; may be repeated',
    },
    kind: { type: 'string', value: 'ENDING', help: 'with -: what standard input is, such as gpkg; else CSV' },
    upsert: {
      type: 'string',
      value: 'KEY',
      help: 'update rows that have the same key, add the others; KEY is a column or several: a,b',
    },
    'on-conflict': {
      type: 'string',
      value: 'update|nothing',
      kind: onConflicts,
      help: 'with --upsert: nothing keeps the row that is in the table',
    },
    'skip-bad-rows': { type: 'boolean', help: 'leave out rows that PostgreSQL refuses, up to 1,000' },
    'max-bad-rows': { type: 'string', value: 'N', help: 'with --skip-bad-rows: fail after so many' },
    rejects: {
      type: 'string',
      value: 'FILE',
      kind: 'file',
      help: 'with --skip-bad-rows: save these rows, to repair and import again',
    },
    type: {
      type: 'string',
      multiple: true,
      value: 'COL=TYPE',
      help: 'type of a column; may be repeated',
    },
    points: {
      type: 'string',
      value: 'LON,LAT',
      help: 'make points from two columns; lon and lat are found by name',
    },
    null: {
      type: 'string',
      multiple: true,
      value: 'TEXT',
      help: 'value that stands for NULL, such as n/a; may be repeated',
    },
    dates: {
      type: 'string',
      value: 'dmy|mdy',
      kind: ['dmy', 'mdy'],
      help: 'day or month first, if the file has no clear case',
    },
    decimals: {
      type: 'string',
      value: 'comma|point',
      kind: ['comma', 'point'],
      help: 'decimal sign, if the file has no clear case',
    },
    encoding: { type: 'string', value: 'E', help: 'encoding of the file, such as LATIN1 or WIN1252' },
    header: {
      type: 'boolean',
      help: 'the first line has the names of the columns',
    },
    'no-header': {
      type: 'boolean',
      help: 'the first line is data; the columns are column_1, column_2, …',
    },
    'no-prepare': { type: 'boolean', help: 'do not prepare the new table for maps' },
    'dry-run': { type: 'boolean', help: 'show the plan and the SQL only' },
  },
  details: [
    'import reads the whole file for the types of its columns, creates the table and prepares it for maps.',
    'CSV and TSV may be compressed (.gz). If something fails, no table and no rows are left.',
    'FILE may be an address, if the service fetches files, or - for standard input. These, GeoJSON of more than 256 MB, and other',
    'kinds of files (.gpkg, .zip, .kml, .xlsx, ...), are read by the service.',
  ],
  run: async (call) => {
    checkLoadOptions(call)
    if (isReadByService(call)) return importByService(call)
    if (call.values.kind !== undefined) throw new UsageError('--kind is only for standard input (-)')
    const file = await openUnlessLarge(call)
    if (!file) return importByService(call)
    const reading = await readInput(call, file)
    const wishes = { ...wishesOf(call, file), ...(await formsOf(call, reading)) }
    if (!wishes.isAppended) return proceed(call, file, reading, wishes)
    return withService(call, async (service) => {
      const known = await columnsOf(service, wishes)
      const intoTable = { ...wishes, known }
      checkPoints(intoTable)
      const points = await pointsOfUpdated(
        service,
        call.terminal,
        planImport(file, reading, intoTable),
        intoTable,
      )
      return proceed(call, file, reading, { ...intoTable, points }, service)
    })
  },
}

/** Undefined: it is GeoJSON that only the service can read. */
async function openUnlessLarge(call: UserCall): Promise<ImportInput | undefined> {
  const path = call.args[0]!
  try {
    return await openInput(path, dialectOptions(call))
  } catch (error) {
    if (!(error instanceof LargeGeojsonError && isNamedGeojson(path))) throw error
    call.terminal.say(`${path} has more than 256 MB of GeoJSON: the service reads it`)
    return undefined
  }
}

/** An upsert goes into a table that is there. */
const isAppended = ({ values }: UserCall) => values.append === true || values.upsert !== undefined

/** What is not given is guessed. */
function dialectOptions({ values }: UserCall): Partial<CsvDialect> {
  if (values.header && values['no-header']) throw new UsageError('give --header or --no-header, not both')
  const encoding = textOf(values, 'encoding')
  const nulls = listOf(values, 'null')
  return {
    ...(encoding === undefined ? {} : { encoding: encoding.toUpperCase() as Encoding }),
    ...(values.header || values['no-header'] ? { hasHeader: values.header === true } : {}),
    ...(nulls.length > 0 ? { nulls } : {}),
  }
}

/** Reads the whole file. Refuses one that COPY would refuse. */
async function readInput(call: UserCall, file: ImportInput): Promise<FileReading> {
  const [path] = call.args as [string]
  if (isAppended(call) && !file.dialect.hasHeader) throw new UsageError(namesMissing(path))
  let rows = () => 0
  const stop = showProgress(call.terminal, () => `reading ${path}: ${formatCount(rows())} rows`)
  const reading = await readTypes(file, (soFar) => {
    rows = () => soFar().inference.rows
  }).finally(stop)
  const { badLine, isCutShort } = reading.inference
  if (badLine && (isCutShort || !call.values['skip-bad-rows']))
    throw new FailedError([badLine.message, ...(await showLine(path, file, badLine.line))].join('\n'))
  if (!reading.isEncodingRight)
    throw new UsageError(`${path} is not UTF-8: give its encoding, such as --encoding WIN1252`)
  if (reading.inference.rows === 0) throw new FailedError(`${path} has no rows`)
  return reading
}

const namesMissing = (path: string) =>
  `--append matches columns by name, and the first line of ${path} seems to have no names. If it has, add --header`

function wishesOf(call: UserCall, file: ImportInput): ImportWishes {
  const [path, given] = call.args as [string, string?]
  const names = columnNames(headerOf(file))
  const { schema, name } = given === undefined ? { name: tableName(basename(path)) } : readTableName(given)
  return {
    schema,
    table: name,
    isAppended: isAppended(call),
    sendsBad: call.values['skip-bad-rows'] === true,
    merge: mergeOf(call.values),
    names: {},
    types: typeOptions(call, names),
    points: pointsOption(call, names),
    isPrepared: call.values['no-prepare'] !== true,
  }
}

/** By the position of the column. */
function typeOptions({ values }: UserCall, names: readonly string[]): Readonly<Record<number, string>> {
  return Object.fromEntries(
    listOf(values, 'type').map((text) => {
      const [, name, type] = /^([^=]+)=(.+)$/.exec(text) ?? []
      if (!name || !type) throw new UsageError(`--type must be COLUMN=TYPE, not '${text}'`)
      if (!names.includes(name)) throw new UsageError(`there is no column ${name}: ${names.join(', ')}`)
      return [names.indexOf(name), type]
    }),
  )
}

function pointsOption({ values }: UserCall, names: readonly string[]): Points | undefined {
  const columnPair = textOf(values, 'points')
  if (columnPair === undefined) return undefined
  const [lon = '', lat = ''] = columnPair.split(',')
  for (const name of [lon, lat]) {
    if (!names.includes(name)) throw new UsageError(`--points: there is no column '${name}'`)
  }
  return { lon, lat }
}

function proceed(
  call: UserCall,
  file: ImportInput,
  reading: FileReading,
  wishes: ImportWishes,
  service?: Service,
): CommandResult | Promise<CommandResult> {
  const planned = planImport(file, reading, wishes)
  const { plan } = planned
  checkNumbers(plan, wishes)
  describePlan(call, file, planned, reading.inference.rows)
  if (call.values['dry-run']) return statementsOf(plan)
  return service
    ? loadRows(call, service, file, plan)
    : withService(call, (found) => loadRows(call, found, file, plan))
}

/** The plan has other points than those that were asked for, if they are not numbers. */
function checkNumbers({ columns, points }: ImportPlan, { points: wanted }: ImportWishes): void {
  if (!wanted || (points?.lon === wanted.lon && points.lat === wanted.lat)) return
  const text = columns.find(({ name, type }) => [wanted.lon, wanted.lat].includes(name) && !isNumber(type))
  if (text) throw new UsageError(`--points: the column ${text.name} is ${text.type}, not a number`)
}

function statementsOf(plan: ImportPlan): CommandResult {
  const { create, copy, after } = importStatements(plan)
  return { lines: [create, copy, ...after].filter(Boolean).map((statement) => `${statement};`) }
}
