import { basename } from 'node:path'
import type { ImportedFile, ImportedRows, ImportOptions } from '../../../client/api/imports-api.ts'
import type { ImportDocument } from '../../../contract/documents.ts'
import { sentFileEndings } from '../../../contract/import-names.ts'
import { formatCount, formatDuration, plural } from '../../../contract/text/format.ts'
import { importWarnings } from '../../../contract/text/import-warnings.ts'
import { mergedText } from '../../../contract/text/merged-rows.ts'
import { joinNames } from '../../../contract/text/name-list.ts'
import { sectionFile } from '../../../file-import/rejects-file.ts'
import type { CommandResult } from '../../command.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { statNamedFile } from '../../named-file.ts'
import { listOf, textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'
import { showProgress, transferLine } from '../progress.ts'
import { type Service, withService } from '../service.ts'
import { readTableName } from '../table-name.ts'
import { writeAll, writeWhole } from '../whole-file.ts'
import { partsOf, tellCut } from './kept-rows.ts'
import { mergeOf } from './load-options.ts'

/** Whether the service reads the file, not this program: other kinds than CSV and GeoJSON, addresses, standard input. */
export function isReadByService({ args, values }: UserCall): boolean {
  const [path = ''] = args
  if (path === '-' || isUrl(path) || values.layer !== undefined) return true
  const ending = /\.([a-z0-9]+)(?:\.gz)?$/i.exec(path)?.[1]?.toLowerCase()
  return (sentFileEndings as readonly string[]).includes(ending ?? '')
}

/** Whether the service knows GeoJSON by the name of this file. */
export const isNamedGeojson = (path: string) => /\.(geo)?json(\.gz)?$/i.test(path)

const isUrl = (path: string) => /^https?:\/\//i.test(path)

/** Sends the file to the service, which makes its tables, and follows the import to its end. */
export async function importByService(call: UserCall): Promise<CommandResult> {
  const options = optionsOf(call)
  const source = await sourceOf(call)
  return withService(call, async (service) => {
    const startedAt = performance.now()
    const id = await send(call, service, source, options)
    const ended = await follow(call, service, id)
    await saveRejected(call, ended)
    return tell(call, ended, performance.now() - startedAt)
  })
}

/** Options of the reader of CSV in this program. */
const forText = ['type', 'points', 'null', 'dates', 'decimals', 'encoding', 'header', 'no-header'] as const
const notHere = [...forText, 'no-prepare', 'dry-run'] as const

function optionsOf(call: UserCall): ImportOptions {
  const { args, values } = call
  const strange = notHere.find((name) => values[name] !== undefined)
  if (strange)
    throw new UsageError(
      `--${strange} is only for CSV, TSV and GeoJSON files on this machine, and GeoJSON up to 256 MB`,
    )
  if (values.append && values.upsert) throw new UsageError('give --append or --upsert, not both')
  const merge = mergeOf(values)
  const layers = listOf(values, 'layer')
  const maxBadRows = wholeNumberOf(values, 'max-bad-rows')
  return {
    ...(args[1] !== undefined && { table_name: tableOf(args[1]) }),
    ...(values.append && { collision_strategy: 'append' as const }),
    ...(merge && { on_conflict: merge.onConflict, key: joinNames(merge.key) }),
    ...(layers.length > 0 && { layer: joinNames(layers) }),
    ...(values['skip-bad-rows'] && { on_error: 'skip' as const }),
    ...(maxBadRows !== undefined && { max_bad_rows: maxBadRows }),
    ...(values.rejects !== undefined && { rejects: 'all' as const }),
  }
}

function tableOf(text: string): string {
  const { schema, name } = readTableName(text)
  if (schema !== undefined && schema !== 'public')
    throw new UsageError(`files of this kind become tables of the account's own schema: give ${name} alone`)
  return name
}

type SourceToImport = Readonly<{ source: ImportedFile | ImportedRows; bytes: number | undefined }>

async function sourceOf({ args, values }: UserCall): Promise<SourceToImport> {
  const [path = '', table] = args
  const kind = textOf(values, 'kind')
  if (path !== '-' && kind !== undefined) throw new UsageError('--kind is only for standard input (-)')
  if (isUrl(path)) return { source: { url: path }, bytes: undefined }
  if (path === '-') {
    if (table === undefined) throw new UsageError('standard input has no name: give the table too')
    const filename = `${tableOf(table)}.${(kind ?? 'csv').replace(/^\./, '')}`
    return { source: { file: process.stdin, filename }, bytes: undefined }
  }
  const { size } = await statNamedFile(path)
  return { source: { file: partsOf(path, size), filename: basename(path) }, bytes: size }
}

async function send(
  { terminal }: UserCall,
  { client, signal }: Service,
  { source, bytes }: SourceToImport,
  options: ImportOptions,
): Promise<string> {
  const startedAt = performance.now()
  let sent = 0
  const stop = showProgress(terminal, () => transferLine(sent, bytes, startedAt))
  const onProgress = ({ bytes: soFar }: { bytes: number }) => {
    sent = soFar
  }
  const onCut = tellCut(terminal)
  const { item_queue_id: id } = await client.imports
    .create(source, options, { signal, onProgress, onCut })
    .finally(stop)
  return id
}

/** Interrupted, the import is cancelled. */
async function follow(
  { terminal }: UserCall,
  { client, signal }: Service,
  id: string,
): Promise<ImportDocument> {
  let line = 'waiting for a worker'
  const stop = showProgress(terminal, () => line)
  try {
    for (;;) {
      const found = await client.imports.read(id, { waitSeconds: 1, signal })
      if (found.state === 'complete' || found.state === 'failure') return found
      line = progressLine(found)
    }
  } catch (error) {
    if (signal.aborted) await client.imports.cancel(id).catch(() => undefined)
    throw error
  } finally {
    stop()
  }
}

function progressLine({ state, progress }: ImportDocument): string {
  if (state === 'pending') return 'waiting for a worker'
  if (state === 'uploading') return 'the service fetches the file'
  const { rows, bytes_read: read, bytes_total: total } = progress
  if (state === 'unpacking') return 'the service reads the file'
  return `storing: ${formatCount(rows)} rows, ${total > 0 ? Math.floor((100 * read) / total) : 0} %`
}

function tell({ args, values, terminal }: UserCall, ended: ImportDocument, ms: number): CommandResult {
  const { id, state, error_code: code, get_error_text: text, table_names: tables, progress } = ended
  const warnings = importWarnings(ended.warnings)
  tellRejected(terminal, ended)
  if (state === 'failure')
    throw new FailedError(`${args[0]}: ${text?.what_about ?? 'the import failed'} (${code})`)
  const { rows } = progress
  terminal.say(`${tables.join(', ')}: ${plural(rows, 'row')} in ${formatDuration(ms)} (import ${id})`)
  const merged = mergedText(rows, ended, mergeOf(values)?.onConflict)
  if (merged) terminal.say(`  ${merged}`)
  for (const warning of warnings) terminal.say(`  ${warning}`)
  const { inserted_rows, updated_rows, rejected_rows } = ended
  const counts = { inserted_rows, updated_rows, rejected_rows }
  return { document: { tables, rows, ...counts, warnings: ended.warnings, import_id: id } }
}

/** A file for each table, so that they can be mended and imported. */
async function saveRejected({ terminal, values }: UserCall, ended: ImportDocument): Promise<void> {
  const path = textOf(values, 'rejects')
  const { rejected = [], rejected_sections: sections = [] } = ended
  if (path === undefined || rejected.length === 0) return
  let before = 0
  for (const [at, section] of sections.entries()) {
    const name = sections.length === 1 ? path : numbered(path, at + 1)
    const rows = rejected.slice(before, before + section.rows)
    before += section.rows
    await writeWhole(name, (target) => writeAll([sectionFile(section, rows)], target))
    terminal.say(
      `${plural(rows.length, 'row')} of ${section.table} saved in ${name}: repair them there and import the file`,
    )
  }
}

const numbered = (path: string, number: number) =>
  path.replace(/(\.\w+)?$/, (ending) => `-${number}${ending}`)

function tellRejected(
  terminal: UserCall['terminal'],
  { rejected_rows: count = 0, rejected = [] }: ImportDocument,
): void {
  if (count === 0) return
  terminal.say(`${plural(count, 'row')} left out:`)
  for (const { line, column, error } of rejected.slice(0, mostShown))
    terminal.say(`  row ${formatCount(line)}${column === null ? '' : `, ${column}`}: ${error}`)
  if (count > mostShown) terminal.say(`  and ${formatCount(count - mostShown)} more`)
}

const mostShown = 10
