import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Principal } from '../../auth/account.ts'
import type { CopyAnswer } from '../../contract/documents.ts'
import type { ErrorCode } from '../../contract/error-codes.ts'
import { copyFrom } from '../../copy/copy-from.ts'
import { AppError, errors } from '../../errors.ts'
import { findImport } from '../../imports/import-store.ts'
import type { HeldUpload } from '../../imports/resumable/held-upload.ts'
import type { UploadRecord } from '../../imports/resumable/upload-store.ts'
import { removeFolder, type Spool, uploadedFile } from '../../imports/spool.ts'
import { submitImport } from '../../imports/submit-import.ts'
import { copyDocument } from '../copy/document.ts'
import { readStoredLoad } from '../copy/request.ts'
import { wantedImport } from '../imports/wanted-import.ts'
import type { Services } from '../services.ts'
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

async function finishCopy(
  services: Services,
  principal: Principal,
  held: HeldUpload,
  spool: Spool,
  { parameters }: UploadWish,
): Promise<CopyAnswer> {
  const { id } = held.record
  const { statement, options, encoding } = readStoredLoad(parameters)
  if (!(await held.change('loading'))) throw errors.uploadLocked()
  const body = createReadStream(join(spool.resumableOf(id), uploadedFile))
  const startedAt = performance.now()
  const upload = { body, encoding, begin: nothing, isComplete: () => true, wait: noWait, gone: neverGone }
  const loaded = await copyFrom(services.copies, principal, { statement, upload, options })
    .catch(async (error: unknown) => {
      if (isRefusal(error)) await held.change('open')
      throw error
    })
    .finally(() => body.destroy())
  // The rows are stored: whatever fails from here on, they are never loaded again.
  const answer = copyDocument(loaded, Math.round(performance.now() - startedAt))
  await held.finish(answer)
  await removeFolder(spool.resumableOf(id))
  return answer
}

/** Nothing was stored, so it may be tried again. */
const isRefusal = (error: unknown) =>
  error instanceof AppError && error.kind !== 'broken' && !inDoubt.has(error.code)

const inDoubt: ReadonlySet<ErrorCode> = new Set(['copy-outcome-unknown', 'statement-outcome-unknown'])

/** The load goes on if the client leaves: it gets the answer when it sends the request again. */
const nothing = () => undefined
const noWait = { begin: nothing, end: nothing }
const neverGone = {
  aborted: false,
  addEventListener: nothing,
  removeEventListener: nothing,
  reason: undefined,
}
