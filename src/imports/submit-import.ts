import { createHash, randomUUID } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { errors } from '../errors.ts'
import type { JobDefinition } from '../jobs/job.ts'
import { findSubmitted } from '../jobs/job-store.ts'
import { enqueueJobs, lockQueue } from '../jobs/queue-store.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { importErrorTitles } from './import-failure.ts'
import type { ImportSettings, ImportSource } from './import-record.ts'
import { countUnfinished, findImport, insertFailedImport, insertImport } from './import-store.ts'
import type { Imports } from './imports.ts'

export type NewImport = Readonly<{
  /** The id of its resumable upload: submitted twice, it is one import. */
  id?: string | undefined
  account: Account
  keyId: number
  source: ImportSource
  options: ImportSettings
  /** The folder of its upload, and the hash of the file. */
  upload?: Readonly<{ folder: string; hash: string }> | undefined
  idempotencyKey?: string | undefined
}>

export type SubmittedImport = Readonly<{ id: string; isReplay: boolean }>

type Context = Readonly<{ databases: Databases; config: Config; imports: Imports }>

/** Queues an import. Its file moves into the spool for it; on failure the file stays where it is. */
export async function submitImport(context: Context, wanted: NewImport): Promise<SubmittedImport> {
  const { databases, config, imports } = context
  const { account, upload } = wanted
  if (wanted.source.type === 'nothing') return submitNothing(databases, wanted)
  const spool = upload && (await imports.spool())
  return inTransaction(databases.control, async (tx) => {
    await lockQueue(tx, account)
    const earlier = await findEarlier(tx, wanted)
    if (earlier !== undefined) return { id: earlier, isReplay: true }
    const slots = slotsOf(config, account)
    if ((await countUnfinished(tx, account)) >= slots) throw errors.importSlotsUsed(slots)
    const { id = randomUUID(), keyId, source, options, idempotencyKey = null } = wanted
    const requestHash = idempotencyKey === null ? null : hashOf(wanted)
    const { queued } = await enqueueJobs(tx, config, [
      { id, account, definition, idempotencyKey, requestHash },
    ])
    if (!queued[0]) throw errors.jobQueueFull(config.jobQueueLimit)
    await insertImport(tx, account, id, { keyId, source, options, spool: spool?.id ?? null })
    if (spool) await spool.keep(upload.folder, id)
    return { id, isReplay: false }
  })
}

/** Never fewer than may run at once. */
const slotsOf = (config: Config, { setLimits }: Account) =>
  Math.max(config.importSlots, limitOf(config, setLimits, 'imports_at_once').value)

const definition: JobDefinition = { form: 'string', items: [{ statement: '' }], isImport: true }

/** A client that sends nothing gets an import that has failed; it takes no slot. */
async function submitNothing(
  databases: Databases,
  { account, keyId, source, options }: NewImport,
): Promise<SubmittedImport> {
  const id = randomUUID()
  const error = {
    code: 1005,
    text: `${importErrorTitles[1005]}: no file, url, sql or table_copy was sent`,
  } as const
  const result = { tables: [], created: 0, warnings: {}, error }
  await inTransaction(databases.control, (tx) =>
    insertFailedImport(tx, account, id, definition, { keyId, source, options, result }),
  )
  return { id, isReplay: false }
}

function hashOf({ source, options, upload }: NewImport): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([source, options, upload?.hash]))
    .digest()
}

async function findEarlier(tx: ClientBase, wanted: NewImport): Promise<string | undefined> {
  if (wanted.id !== undefined && (await findImport(tx, wanted.account, wanted.id))) return wanted.id
  if (wanted.idempotencyKey === undefined) return undefined
  const earlier = await findSubmitted(tx, wanted.account, wanted.idempotencyKey)
  if (!earlier) return undefined
  if (!earlier.requestHash.equals(hashOf(wanted))) throw errors.idempotencyKeyReused()
  return earlier.id
}
