import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Principal } from '../../auth/account.ts'
import type { CopyAnswer } from '../../contract/documents.ts'
import type { ErrorCode } from '../../contract/error-codes.ts'
import { copyFrom } from '../../copy/copy-from.ts'
import type { LoadRecord, LoadTransaction } from '../../copy/copy-run.ts'
import type { Loaded } from '../../copy/load/load.ts'
import { AppError, errors } from '../../errors.ts'
import { findImport } from '../../imports/import-store.ts'
import type { HeldUpload } from '../../imports/resumable/held-upload.ts'
import { announceLoad, settleLoad } from '../../imports/resumable/load-flight.ts'
import type { LoadFlight, UploadRecord } from '../../imports/resumable/upload-store.ts'
import { removeFolder, type Spool, uploadedFile } from '../../imports/spool.ts'
import { submitImport } from '../../imports/submit-import.ts'
import { copyDocument } from '../copy/document.ts'
import { readStoredLoad } from '../copy/request.ts'
import { wantedImport } from '../imports/wanted-import.ts'
import { limitStatement } from '../middleware/rate-limit.ts'
import type { Services } from '../services.ts'
import { refusalOf } from './document.ts'
import { readWish, type UploadWish } from './request.ts'

/** The whole file is here: it becomes what was wished. Of a copyfrom, its answer is returned. */
export async function finish(
  services: Services,
  principal: Principal,
  held: HeldUpload,
  spool: Spool,
): Promise<CopyAnswer | undefined> {
  const wish = readWish(held.record.metadata)
  if (wish.kind === 'copyfrom') return finishCopy(services, principal, held, spool, wish)
  await finishImport(services, principal, held, spool, wish)
  return undefined
}

/** The import has the id of its upload, so there is one however often this is tried. */
async function finishImport(
  services: Services,
  principal: Principal,
  held: HeldUpload,
  spool: Spool,
  wish: UploadWish,
): Promise<void> {
  const { record } = held
  if (await hasImport(services, principal, record))
    // The file may have been taken back while the import was being committed.
    await spool.keep(spool.resumableOf(record.id), record.id).catch(unlessMissing)
  else await makeImport(services, principal, record, spool, wish)
  await held.finish()
}

async function makeImport(
  services: Services,
  principal: Principal,
  record: UploadRecord,
  spool: Spool,
  { filename, parameters }: UploadWish,
): Promise<void> {
  const { id, length } = record
  const { account, key } = principal
  const file = { name: filename, bytes: length }
  const { source, options } = await wantedImport(services, principal, parameters, file)
  const upload = { folder: spool.resumableOf(id), hash: '' }
  try {
    await submitImport(services, { id, account, keyId: key.id, source, options, upload })
  } catch (error) {
    if (!(await hasImport(services, principal, record))) await spool.takeBack(id)
    throw error
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** A process that was killed after it made the import could not say so. */
export async function hasImport(
  { databases }: Services,
  { account }: Principal,
  { id }: Pick<UploadRecord, 'id'>,
): Promise<boolean> {
  return (await findImport(databases.control, account, id)) !== undefined
}

/** The rows are loaded in a transaction whose outcome is known after any crash. Each try counts as a copyfrom. */
async function finishCopy(
  services: Services,
  principal: Principal,
  held: HeldUpload,
  spool: Spool,
  { parameters }: UploadWish,
): Promise<CopyAnswer> {
  const { id } = held.record
  const { statement, options, encoding } = readStoredLoad(parameters)
  await limitStatement(services, principal, 'copyfrom')
  // Opened first: an error of a stream without a listener would end the process.
  const file = await open(join(spool.resumableOf(id), uploadedFile))
  const body = file.createReadStream().on('error', nothing)
  const load = new UploadLoad(services, principal, held)
  const upload = { body, encoding, begin: nothing, isComplete: () => true, wait: noWait, gone: load.gone }
  try {
    await copyFrom(services.copies, principal, { statement, upload, options, record: load })
  } catch (error) {
    await load.settle(error)
  } finally {
    load.end()
    body.destroy()
  }
  // The rows are stored: whatever fails from here on, they are never loaded again.
  await held.finish()
  await removeFolder(spool.resumableOf(id))
  return load.answer!
}

const nothing = () => undefined
const noWait = { begin: nothing, end: nothing }

/** The record of one load. It goes on if the client leaves: the request sent again gets the answer. */
class UploadLoad implements LoadRecord<Loaded> {
  readonly #services: Services
  readonly #principal: Principal
  readonly #held: HeldUpload
  readonly #startedAt = performance.now()
  readonly #left = new AbortController()
  #flight: LoadFlight | null = null
  answer: CopyAnswer | undefined

  constructor(services: Services, principal: Principal, held: HeldUpload) {
    this.#services = services
    this.#principal = principal
    this.#held = held
    held.taken.addEventListener('abort', this.#leave)
    if (held.taken.aborted) this.#leave()
  }

  /** Another request may have the upload until the load has begun. */
  get gone(): AbortSignal {
    return this.#left.signal
  }

  readonly #leave = () => this.#left.abort()

  readonly begun = async (transaction: LoadTransaction): Promise<void> => {
    const { hostId } = this.#principal.account
    this.#flight = { ...transaction, hostId }
    await announceLoad(this.#services.databases, this.#held, hostId, transaction)
    this.end()
  }

  readonly sent = async (loaded: Loaded): Promise<void> => {
    this.answer = copyDocument(loaded, Math.round(performance.now() - this.#startedAt))
    if (!(await this.#held.keepAnswer(this.answer))) throw errors.uploadLocked()
  }

  end(): void {
    this.#held.taken.removeEventListener('abort', this.#leave)
  }

  /** After a failure. Returns if the rows are stored all the same; throws what is to be answered. */
  async settle(error: unknown): Promise<void> {
    if (this.gone.aborted) throw errors.uploadLocked()
    if (isInDoubt(error) && this.#flight) {
      const record = { ...this.#held.record, flight: this.#flight }
      const outcome = await settleLoad(this.#services.databases, record).catch(() => 'unknown' as const)
      if (outcome === 'stored') return
      if (outcome === 'unknown') throw error
    }
    if (await this.#held.refuse(refusalOf(error))) throw error
    throw (await this.#held.isCancelled())
      ? errors.statementCancelled(error, 'by the DELETE of its upload')
      : errors.uploadLocked()
  }
}

/** After this error the rows may have been stored. */
const isInDoubt = (error: unknown) =>
  !(error instanceof AppError) || error.kind === 'broken' || doubts.has(error.code)

const doubts: ReadonlySet<ErrorCode> = new Set(['copy-outcome-unknown', 'statement-outcome-unknown'])
