import type { Account } from '../../auth/account.ts'
import type { ImportDocument } from '../../contract/documents.ts'
import { type ImportErrorCode, importErrorTitles } from '../../imports/import-failure.ts'
import type { ImportRecord, ImportResult, ImportSource } from '../../imports/import-record.ts'
import type { Job } from '../../jobs/job.ts'

/** An import as its owner sees it. */
export function importDocument(account: Account, job: Job, record: ImportRecord): ImportDocument {
  const { source, options, result } = record
  const state = stateOf(job, record)
  const isFinal = state === 'complete' || state === 'failure'
  const error = isFinal ? errorOf(job, record) : undefined
  // The result is written before the commit, which a cancel may prevent.
  const tables = state === 'complete' ? (result?.tables ?? []) : []
  const warnings = isFinal && result ? result.warnings : {}
  return {
    id: job.id,
    item_queue_id: job.id,
    queue_id: job.id,
    user_id: account.username,
    table_id: tables[0] ?? null,
    table_name: tables[0] ?? null,
    table_names: tables,
    data_type:
      source.type === 'url' ? 'url' : source.type === 'sql' || source.type === 'table' ? 'query' : 'file',
    state,
    error_code: error?.code ?? null,
    tables_created_count: isFinal && state === 'complete' ? (result?.created ?? 0) : 0,
    synchronization_id: null,
    type_guessing: options.typeGuessing,
    quoted_fields_guessing: options.quotedFieldsGuessing,
    content_guessing: options.contentGuessing,
    create_visualization: options.createVisualization,
    visualization_id: null,
    user_defined_limits: '{}',
    get_error_text: error && state === 'failure' ? errorText(error) : null,
    display_name: displayName(source),
    original_url: source.type === 'url' ? withoutCredentials(source.url) : null,
    warnings: Object.keys(warnings).length === 0 ? null : warnings,
    is_raster: false,
    created_at: job.createdAt.toISOString(),
    updated_at: job.updatedAt.toISOString(),
    progress: record.progress ?? noProgress,
    ...(state === 'complete' && isCounted(record) && { total_rows: record.progress?.rows ?? 0 }),
    ...(isFinal && result?.rejected && rejectedMembers(result.rejected)),
    ...(state === 'complete' &&
      result?.merged && { inserted_rows: result.merged.inserted, updated_rows: result.merged.updated }),
    ...(isFinal && result?.preview && { preview: result.preview }),
    ...(isFinal && { success: state === 'complete' }),
  }
}

/** Not all rows of the file need be in its table, as with copyfrom. */
const isCounted = ({ options, result }: ImportRecord) =>
  !options.isPreview && (options.maxBadRows !== undefined || result?.merged !== undefined)

const rejectedMembers = ({ count, rows, sections }: NonNullable<ImportResult['rejected']>) => ({
  rejected_rows: count,
  rejected: rows,
  ...(sections && { rejected_sections: sections }),
})

const noProgress = { bytes_read: 0, bytes_total: 0, rows: 0, tables_done: 0, tables_total: 0 }

function stateOf({ status }: Job, { phase }: ImportRecord): ImportDocument['state'] {
  if (status === 'pending') return 'pending'
  if (status === 'running') return phase
  return status === 'done' ? 'complete' : 'failure'
}

type ImportFault = Readonly<{ code: ImportErrorCode; text: string }>

function errorOf({ status, failedReason }: Job, { result }: ImportRecord): ImportFault | undefined {
  if (status === 'cancelled') return { code: 6672, text: 'The import was cancelled' }
  if (result?.error) return result.error
  return status === 'done' ? undefined : { code: 2001, text: failedReason ?? 'The import failed' }
}

function errorText({ code, text }: ImportFault) {
  const source = code === 6671 || code === 99999 ? ('cartodb' as const) : ('user' as const)
  return { title: importErrorTitles[code], what_about: text, source }
}

function displayName(source: ImportSource): string | null {
  if (source.type === 'file') return source.name
  if (source.type === 'url')
    return (
      withoutCredentials(source.url)
        .replace(/[?#].*$/, '')
        .replace(/^.*\//, '') || null
    )
  return source.type === 'table' ? source.table : null
}

function withoutCredentials(text: string): string {
  try {
    const url = new URL(text)
    url.username = ''
    url.password = ''
    return url.href
  } catch {
    return ''
  }
}
