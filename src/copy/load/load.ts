import { AppError, errors } from '../../errors.ts'
import type { WireError } from '../../postgres/wire/wire-error.ts'
import { type CopyLoad, readLoad } from '../../sql/copy-load.ts'
import type { CopyStatement } from '../../sql/copy-statement.ts'
import type { StatementRun } from '../../statements/statement-run.ts'
import { type CopyAttempt, CopyRun, type LoadRecord } from '../copy-run.ts'
import { pumpIntoCopy } from '../pump-into-copy.ts'
import type { QuotaShare } from '../quota-ledger.ts'
import type { Upload } from '../upload.ts'
import { UploadPump } from '../upload-pump.ts'
import { PartLoader } from './load-in-parts.ts'
import { type Merge, type MergeOptions, mergeOf } from './merge-rows.ts'
import { PartQueue } from './part-queue.ts'
import { PartReader } from './part-reader.ts'
import { RejectedRows, type SkipOptions } from './rejected-rows.ts'

/** What a load does besides a plain COPY. */
export type LoadOptions = Readonly<{
  /** Leave out the rows that PostgreSQL refuses. */
  skip?: SkipOptions | undefined
  /** Merge the rows into those that are there, by a key. */
  merge?: MergeOptions | undefined
}>

/** What a load has stored. */
export type Loaded = Readonly<{
  rows: number
  rejected?: RejectedRows | undefined
  merged?: Readonly<{ inserted: number; updated: number }> | undefined
}>

export type LoadInput = Readonly<{
  run: StatementRun
  statement: CopyStatement
  upload: Upload
  maxBytes: number
  share: QuotaShare
  record: LoadRecord<Loaded> | undefined
}>

/** Refuses what cannot be done with these options, before a connection is asked for. */
export function checkLoad(statement: CopyStatement, { skip, merge }: LoadOptions): CopyLoad {
  const load = readLoad(statement)
  if (skip && load.dialect.format === 'binary')
    throw errors.badRequest('on_error=skip works with the formats csv and text, not with binary')
  if (load.isFrozen)
    throw errors.badRequest(`FREEZE is not possible with ${skip ? 'on_error=skip' : 'on_conflict'}`)
  if (merge && new Set(merge.key).size < merge.key.length)
    throw errors.badRequest('Invalid key: a column is named twice')
  return load
}

/** A load in one transaction that leaves out bad rows, or merges its rows into the table, or both. */
export async function loadRows(input: LoadInput, load: CopyLoad, options: LoadOptions): Promise<Loaded> {
  const copy = new CopyRun(input.run)
  return copy.inTransaction(async () => {
    if (load.create !== undefined) await execute(copy, load.create)
    const merge = options.merge && (await prepareMerge(copy, load, options.merge))
    const rejected = options.skip && new RejectedRows(options.skip, load.dialect.encoding)
    const loaded = rejected
      ? await loadParts(copy, input, load, rejected, merge)
      : await loadWhole(copy, input, merge!)
    if (loaded.rows === 0) throw noRows(rejected)
    return loaded
  }, input.record)
}

async function prepareMerge(
  copy: CopyRun,
  load: CopyLoad,
  options: NonNullable<LoadOptions['merge']>,
): Promise<Merge> {
  const merge = await copy.run.watch((session) => mergeOf(session, load, options))
  await execute(copy, merge.createTemporary)
  return merge
}

async function execute(copy: CopyRun, text: string): Promise<CopyAttempt> {
  const attempt = await copy.attempt([text], {})
  if (attempt.error) copy.refuse(attempt.error)
  return attempt
}

/** The rows stream into the temporary table, and are merged from there at once. */
async function loadWhole(copy: CopyRun, input: LoadInput, merge: Merge): Promise<Loaded> {
  const { pump, handler } = pumpIntoCopy(input, () => input.run.wire.finishCopy())
  try {
    const { error, rows } = await copy.attempt([merge.copy], handler)
    if (error) copy.refuse(named(error, input))
    const { numbers } = await execute(copy, merge.merge)
    return { rows, merged: mergedOf(numbers) }
  } finally {
    pump.stop()
  }
}

async function loadParts(
  copy: CopyRun,
  { run, upload, maxBytes, share, statement }: LoadInput,
  load: CopyLoad,
  rejected: RejectedRows,
  merge: Merge | undefined,
): Promise<Loaded> {
  const reader = new PartReader(load.dialect, partBytes)
  let rows = 0
  const merged = { inserted: 0, updated: 0 }
  const loader = new PartLoader(copy, {
    text: merge ? `${merge.copy}\n;${merge.merge}\n;${merge.clear}` : load.copy,
    dialect: load.dialect,
    header: () => reader.header ?? none,
    rejected,
    name: (error) => named(error, { statement }),
    onStored: (attempt) => {
      rows += attempt.rows
      const { inserted, updated } = mergedOf(attempt.numbers)
      merged.inserted += inserted
      merged.updated += updated
    },
  })
  // With HEADER MATCH the probe would miss the header.
  if (load.dialect.header !== 'matched') await loader.probe()
  const queue: PartQueue = new PartQueue(reader, () => pump.resume())
  const pump = new UploadPump(upload, maxBytes, {
    write: (chunk, sent) => {
      share.spend(chunk.length)
      return queue.write(chunk, sent)
    },
    end: () => queue.end(),
    fail: (reason) => run.stop(reason),
  })
  copy.onStopped = () => {
    pump.stop()
    queue.fail(run.stopReason!)
  }
  try {
    pump.start()
    for (let part = await queue.next(); part; part = await queue.next()) {
      await loader.load(part)
      reader.giveBack(part)
    }
    await loader.finish()
    return { rows, rejected, ...(merge && { merged }) }
  } finally {
    pump.stop()
  }
}

const mergedOf = ([inserted = 0, updated = 0]: readonly number[]) => ({ inserted, updated })

/** The temporary table is ours: the caller knows the table by its own name. */
function named(error: WireError, { statement: { table } }: Pick<LoadInput, 'statement'>): WireError {
  const name = table?.name ?? ''
  return { ...error, context: error.context?.replaceAll('COPY cartage_rows, ', () => `COPY ${name}, `) }
}

function noRows(rejected: RejectedRows | undefined): AppError {
  const error = errors.noRowsCopied()
  if (!rejected || rejected.count === 0) return error
  const body = { rejected_rows: rejected.count, rejected: rejected.list }
  return new AppError(error.code, error.kind, error.message, { ...error.extras, body })
}

const none = Buffer.alloc(0)

/** A bad row costs one part that is loaded again; a part costs one round trip. */
const partBytes = 1024 * 1024
