import type { ImportDocument } from '../../contract/documents.ts'
import type { OnConflict, onErrors, rejectLists } from '../../contract/formats.ts'
import type { CollisionStrategy, ImportPrivacy } from '../../contract/import-names.ts'
import { randomId } from '../http/random-id.ts'
import type { Call, Connection } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'
import type { Body } from '../http/transport.ts'
import { ImportError } from '../job-errors.ts'
import type { Submitting } from './jobs-api.ts'
import { type Following, untilAnswered, type Waiting } from './until-answered.ts'
import {
  isLarge,
  type LargeFrom,
  type PartialFile,
  type Resuming,
  uploadResumably,
  wholeFile,
} from './uploads-api.ts'

/**
 * Where the rows come from: a file with a name that shows its kind, one SELECT, another table, or an address from which
 * the service fetches the file, if its operator allows that.
 */
export type ImportedFile = Readonly<{ file: Body | PartialFile; filename: string }>
export type ImportedRows =
  | Readonly<{ sql: string }>
  | Readonly<{ table_copy: string }>
  | Readonly<{ url: string }>

export type ImportOptions = Readonly<{
  /** Needed with `sql` and `table_copy`; otherwise the name of the file is taken. */
  table_name?: string
  collision_strategy?: CollisionStrategy
  /** If a row with the same `key` is there: `update` is `upsert`, `nothing` leaves it as it is. */
  on_conflict?: OnConflict
  /** For `upsert` and `on_conflict`: the columns that identify a row, separated by commas. */
  key?: string
  /** For `append` and `upsert`. */
  add_columns?: boolean
  privacy?: ImportPrivacy
  /** For CSV. */
  type_guessing?: boolean
  quoted_fields_guessing?: boolean
  /** The sheet of a workbook. */
  sheet?: string
  /** Only these layers of the file, separated by commas. */
  layer?: string
  /** `skip`: rows that PostgreSQL refuses are left out, up to `max_bad_rows`. */
  on_error?: (typeof onErrors)[number]
  max_bad_rows?: number
  /** `all`: every one is listed, with its whole text. */
  rejects?: (typeof rejectLists)[number]
  /** Nothing is stored: `preview` of the document tells what would be. */
  preview?: boolean
}>

export type Importing = Waiting &
  Submitting &
  Pick<Resuming, 'onProgress' | 'onCut'> &
  /** Unless `idempotencyKey` is given. */
  LargeFrom

export function importsOf(connection: Connection, name: string) {
  const one = (importId: string) => ({ parameters: { name, importId } })

  /**
   * Answers when the file is stored. Sent with an idempotency key, so that a repeated request makes no second import; a large
   * file by a resumable upload.
   */
  const create = (
    source: ImportedFile | ImportedRows,
    options: ImportOptions = {},
    sending: Importing = {},
  ) => createImport(connection, name, source, options, sending)

  /** With `waitSeconds` the answer comes when the import has ended, or the time is over. */
  const read = (importId: string, { waitSeconds, signal }: Waiting & { waitSeconds?: number } = {}) =>
    sendForJson<ImportDocument>(connection, 'readImport', {
      ...one(importId),
      query: { wait: waitSeconds },
      signal,
    })

  /** The ids of unfinished imports, or of all that are kept. */
  const list = ({ all }: { all?: boolean } = {}) =>
    sendForJson<ImportList>(connection, 'listImports', { parameters: { name }, query: { all } })

  /** Answers when the work has stopped. */
  const cancel = (importId: string) => sendForJson<ImportDocument>(connection, 'cancelImport', one(importId))

  /** Waits until the import has ended. A service that restarts meanwhile is waited for. */
  const finished = async (
    importId: string,
    options: Omit<Following, 'onChange'> = {},
  ): Promise<ImportDocument> => {
    const { signal } = options
    for (;;) {
      const found = await untilAnswered(importId, () => read(importId, { waitSeconds: 30, signal }), options)
      if (found.state === 'complete' || found.state === 'failure') return found
    }
  }

  /** Imports and waits for the end. Unless it is `complete` an ImportError is thrown. */
  const run = async (
    source: ImportedFile | ImportedRows,
    options: ImportOptions = {},
    sending: Importing & Omit<Following, 'onChange'> = {},
  ): Promise<ImportDocument> => {
    const { item_queue_id: id } = await create(source, options, sending)
    const ended = await finished(id, sending)
    if (ended.state !== 'complete') throw new ImportError(ended)
    return ended
  }

  return { create, read, list, cancel, finished, run }
}

async function createImport(
  connection: Connection,
  name: string,
  source: ImportedFile | ImportedRows,
  options: ImportOptions,
  sending: Importing,
): Promise<QueuedImport> {
  if (sending.idempotencyKey === undefined && 'file' in source && isLarge(source.file, sending)) {
    const metadata = { filename: source.filename, ...options }
    const { importId } = await uploadResumably(connection, name, source.file, metadata, sending)
    return { item_queue_id: importId!, success: true }
  }
  const { idempotencyKey = randomId(), signal, onProgress } = sending
  const call = callOf(source, options, { 'idempotency-key': idempotencyKey })
  return sendForJson<QueuedImport>(connection, 'createImport', {
    ...call,
    parameters: { name },
    signal,
    onProgress,
  })
}

function callOf(
  source: ImportedFile | ImportedRows,
  options: ImportOptions,
  headers: Readonly<Record<string, string>>,
): Call {
  if (!('file' in source)) return { json: { ...source, ...options }, headers }
  const query: ImportQuery = { filename: source.filename, ...options }
  const upload = wholeFile(source.file)
  return { query, headers: { ...headers, 'content-type': 'application/octet-stream' }, upload }
}

/** The parameters that are sent with a file. */
export type ImportQuery = Readonly<{ filename: string }> & ImportOptions
type QueuedImport = Readonly<{ item_queue_id: string; success: true }>
type ImportList = Readonly<{ imports: readonly string[]; success: true }>
