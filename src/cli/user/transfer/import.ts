import { basename } from 'node:path'
import { sqlOf } from '../../../client/api/copy-upload.ts'
import { formatBytes, formatCount, formatDuration, plural } from '../../../contract/text/format.ts'
import {
  columnNames,
  findPoints,
  type ImportColumn,
  type ImportPlan,
  type ImportStatements,
  importStatements,
  tableName,
} from '../../../file-import/import-plan.ts'
import { TypeInference } from '../../../file-import/infer-types.ts'
import type { CommandResult } from '../../command.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { listOf, textOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { at, wholeText } from '../explain.ts'
import { showProgress, transferLine } from '../progress.ts'
import { type Service, withService } from '../service.ts'
import { readTableName } from '../table-name.ts'
import { columnsOf, fitPlan } from './append.ts'
import { explainCopy, showLine } from './failed-line.ts'
import { type ImportFile, openImportFile } from './import-file.ts'

export const importCommand: UserCommand = {
  name: 'import',
  summary: 'create a table from a CSV, TSV or GeoJSON file',
  arguments: [
    { name: 'FILE', kind: 'file' },
    { name: 'TABLE', kind: 'table', isOptional: true },
  ],
  options: {
    append: { type: 'boolean', help: 'add the rows to an existing table; columns are matched by name' },
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
    encoding: { type: 'string', value: 'E', help: 'encoding of the file, such as LATIN1 or WIN1252' },
    header: {
      type: 'boolean',
      help: 'the first line has the names of the columns',
    },
    'no-header': {
      type: 'boolean',
      help: 'the first line is data; the columns are column_1, column_2, …',
    },
    'no-prepare': { type: 'boolean', help: 'do not prepare the table for maps' },
    'dry-run': { type: 'boolean', help: 'show the plan and the SQL only' },
  },
  details: [
    'import reads the whole file for the types of its columns, creates the table and prepares it for maps.',
    'CSV and TSV may be compressed (.gz). If something fails, no table and no rows are left.',
  ],
  run: async (call) => {
    const [path] = call.args as [string, string?]
    const file = await openImportFile(path, textOf(call.values, 'encoding'), headerOption(call))
    const { plan, rows } = await planImport(call, file)
    if (!plan.isNew) return withService(call, (service) => append(call, service, file, plan, rows))
    describePlan(call, file, plan, rows)
    if (call.values['dry-run']) return statementsOf(plan)
    return withService(call, (service) => load(call, service, file, plan))
  },
}

/** The existing table decides on types and points. */
async function append(call: UserCall, service: Service, file: ImportFile, read: ImportPlan, rows: number) {
  const plan = fitPlan(read, await columnsOf(service, read), call.values.points !== undefined)
  describePlan(call, file, plan, rows)
  return call.values['dry-run'] ? statementsOf(plan) : load(call, service, file, plan)
}

function statementsOf(plan: ImportPlan): CommandResult {
  const { create, copy, after } = importStatements(plan)
  return { lines: [create, copy, ...after].filter(Boolean).map((statement) => `${statement};`) }
}

/** Undefined: guess. */
function headerOption({ values }: UserCall): boolean | undefined {
  if (values.header && values['no-header']) throw new UsageError('give --header or --no-header, not both')
  return values.header || values['no-header'] ? values.header === true : undefined
}

async function planImport(call: UserCall, file: ImportFile) {
  const [path, given] = call.args as [string, string?]
  if (call.values.append && !file.dialect.hasHeader) throw new UsageError(namesMissing(path))
  const inference = new TypeInference(file.dialect)
  const stop = showProgress(
    call.terminal,
    () => `reading ${path}: ${formatCount(inference.result.rows)} rows`,
  )
  try {
    for await (const chunk of file.text()) {
      inference.push(chunk)
      if (inference.isOver) break
    }
    inference.end()
  } finally {
    stop()
  }
  const { columns: inferred, rows, badLine, hasNullMark } = inference.result
  if (badLine)
    throw new FailedError([badLine.message, ...(await showLine(path, file, badLine.line))].join('\n'))
  if (!inference.isEncodingRight)
    throw new UsageError(`${path} is not UTF-8: give its encoding, such as --encoding WIN1252`)
  if (rows === 0) throw new FailedError(`${path} has no rows`)
  const names = columnNames(file.header)
  const types = typeOptions(call, names)
  const columns = names.map((name, place): ImportColumn => {
    const { type = 'text', hasQuotedEmpty = false } = inferred[place] ?? {}
    return { name, type: types.get(name) ?? type, hasQuotedEmpty }
  })
  const { schema, name } = given === undefined ? { name: tableName(basename(path)) } : readTableName(given)
  const plan: ImportPlan = {
    schema,
    table: name,
    isNew: call.values.append !== true,
    columns,
    dialect: file.dialect,
    hasNullMark,
    points: pointsOf(call, columns),
    isPrepared: call.values['no-prepare'] !== true,
  }
  return { plan, rows }
}

const namesMissing = (path: string) =>
  `--append matches columns by name, and the first line of ${path} seems to have no names. If it has, add --header`

function typeOptions({ values }: UserCall, names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    listOf(values, 'type').map((text) => {
      const [, name, type] = /^([^=]+)=(.+)$/.exec(text) ?? []
      if (!name || !type) throw new UsageError(`--type must be COLUMN=TYPE, not '${text}'`)
      if (!names.includes(name)) throw new UsageError(`there is no column ${name}: ${names.join(', ')}`)
      return [name, type]
    }),
  )
}

function pointsOf({ values }: UserCall, columns: readonly ImportColumn[]) {
  const columnPair = textOf(values, 'points')
  if (columnPair === undefined) return findPoints(columns)
  const [lon = '', lat = ''] = columnPair.split(',')
  for (const name of [lon, lat]) {
    if (!columns.some((column) => column.name === name))
      throw new UsageError(`--points: there is no column '${name}'`)
  }
  return { lon, lat }
}

function describePlan(
  { args, terminal }: UserCall,
  { bytes }: ImportFile,
  { columns, points }: ImportPlan,
  rows: number,
): void {
  const size = formatBytes(bytes)
  terminal.say(`${basename(args[0]!)}  ${plural(columns.length, 'column')}, ${plural(rows, 'row')}, ${size}`)
  const shown = columns.filter(({ name }) => name !== points?.lon && name !== points?.lat)
  const parts = shown.map(({ name, type }) => `${name} ${type}`)
  terminal.say(`  ${[...parts, ...(points ? [`points from ${points.lon}, ${points.lat}`] : [])].join(' · ')}`)
}

async function load(
  call: UserCall,
  service: Service,
  file: ImportFile,
  plan: ImportPlan,
): Promise<CommandResult> {
  const { client, signal } = service
  const statements = importStatements(plan)
  const startedAt = performance.now()
  const { total_rows } = await upload(call, service, file, statements).catch(async (error: unknown) => {
    throw await explainCopy(error, call.args[0]!, file, plan)
  })
  const loaded = performance.now() - startedAt
  const job = await client.jobs.run({ query: statements.after.map((query) => ({ query })) }, { signal })
  const prepared = formatDuration(performance.now() - startedAt - loaded)
  const done = plan.isPrepared ? `prepared for maps in ${prepared}` : `completed in ${prepared}`
  const rows = plural(total_rows, 'row')
  call.terminal.say(`${plan.table}: ${rows} in ${formatDuration(loaded)}, ${done} (job ${job.job_id})`)
  return { document: { table: plan.table, rows: total_rows, job_id: job.job_id } }
}

async function upload(
  { terminal }: UserCall,
  { client, signal, url }: Service,
  file: ImportFile,
  { create, copy }: ImportStatements,
) {
  const isFar = !/^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)
  const { stream, contentEncoding } = file.upload(isFar)
  const startedAt = performance.now()
  // The compressed size is not known before.
  const total = isFar && contentEncoding ? undefined : file.bytes
  let sent = 0
  const stop = showProgress(terminal, () => transferLine(sent, total, startedAt))
  const onProgress = ({ bytes }: { bytes: number }) => {
    sent = bytes
  }
  const options = { create, signal, onProgress, ...(contentEncoding && { contentEncoding }) }
  return at(wholeText(sqlOf({ create, copy })), () => client.copyFrom(copy, stream, options)).finally(stop)
}
