import { setTimeout as sleep } from 'node:timers/promises'
import { sqlOf } from '../../../client/api/copy-upload.ts'
import { defaultResumableFromBytes } from '../../../client/api/uploads-api.ts'
import { CartageError } from '../../../client/cartage-error.ts'
import type { CopyAnswer } from '../../../contract/documents.ts'
import { formatDuration, plural } from '../../../contract/text/format.ts'
import { mergedText } from '../../../contract/text/merged-rows.ts'
import { type ImportPlan, importStatements } from '../../../file-import/import-plan.ts'
import { withoutPointField } from '../../../file-import/point-field.ts'
import { isRewritten } from '../../../file-import/rewrite-rows.ts'
import { checkImport, ImportInDoubt, isOutcomeUnknown, storeRows } from '../../../file-import/store-rows.ts'
import type { CommandResult } from '../../command.ts'
import { FailedError } from '../../command-error.ts'
import type { UserCall } from '../command.ts'
import { at, explainFailure, wholeText } from '../explain.ts'
import { showProgress, transferLine } from '../progress.ts'
import type { Service } from '../service.ts'
import { explainCopy } from './failed-line.ts'
import type { ImportInput } from './import-input.ts'
import { keepRows, tellCut } from './kept-rows.ts'
import { loadParameters } from './load-options.ts'
import { tellRejects } from './rejects.ts'

/** Sends the rows and runs the steps after them as a job. */
export async function loadRows(
  call: UserCall,
  service: Service,
  file: ImportInput,
  plan: ImportPlan,
): Promise<CommandResult> {
  const { client, signal } = service
  const statements = importStatements(plan)
  const startedAt = performance.now()
  const { rows: count, answer } = await store(call, service, file, plan).catch(async (error: unknown) => {
    throw await explainCopy(error, call.args[0]!, file, plan)
  })
  const loaded = performance.now() - startedAt
  const job = await client.jobs.run({ query: statements.after.map((query) => ({ query })) }, { signal })
  const prepared = formatDuration(performance.now() - startedAt - loaded)
  const done = plan.isPrepared ? `prepared for maps in ${prepared}` : `completed in ${prepared}`
  const rows = plural(count, 'row')
  call.terminal.say(`${plan.table}: ${rows} in ${formatDuration(loaded)}, ${done} (job ${job.job_id})`)
  const { inserted_rows, updated_rows, rejected_rows, rejected = [] } = answer ?? {}
  const merged = mergedText(count, answer ?? {}, plan.merge?.onConflict)
  if (merged) call.terminal.say(`  ${merged}`)
  await tellRejects(call, file, rejected_rows ?? 0, withoutPointField(plan, rejected))
  const counts = { inserted_rows, updated_rows, rejected_rows }
  return { document: { table: plan.table, rows: count, ...counts, job_id: job.job_id } }
}

type StoredRows = Readonly<{ rows: number; answer: CopyAnswer | undefined }>

async function store(
  call: UserCall,
  service: Service,
  file: ImportInput,
  plan: ImportPlan,
): Promise<StoredRows> {
  const statements = importStatements(plan)
  const { client, signal } = service
  const sql = async (text: string) => (await at(wholeText(text), () => client.sql(text, { signal }))).rows
  await checkImport({ sql }, statements)
  let answer: CopyAnswer | undefined
  const copy = async () => {
    answer = await upload(call, service, file, plan)
    return answer.total_rows
  }
  const isLost = (error: unknown) =>
    error instanceof CartageError && !signal.aborted && isOutcomeUnknown(error)
  const importing = { sql, copy, isLost, untilBack: () => untilBack(service) }
  const rows = await storeRows(importing, statements).catch((error: unknown) => {
    throw error instanceof ImportInDoubt ? inDoubt(error, call.args[1] ?? call.args[0]!) : error
  })
  return { rows, answer }
}

/** Asks for a minute whether the service answers. */
async function untilBack({ client, signal }: Service): Promise<void> {
  const end = performance.now() + backMs
  while (performance.now() < end) {
    if (await client.health.live().catch(() => undefined)) return
    await sleep(1_000, undefined, { signal })
  }
  throw new Error('the service does not answer')
}

const backMs = 60_000

function inDoubt({ cause }: ImportInDoubt, what: string): FailedError {
  const why = explainFailure(cause)?.message ?? String(cause)
  return new FailedError(
    `it is unknown whether the rows of ${what} were stored. Check the table before you send them again\n${why}`,
  )
}

async function upload(call: UserCall, { client, signal, url }: Service, file: ImportInput, plan: ImportPlan) {
  const { create, copy } = importStatements(plan)
  const isFar = !/^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)
  const { stream, contentEncoding } = file.upload(plan, isFar)
  const kept = isFar && file.bytes > defaultResumableFromBytes ? await keepRows(stream) : undefined
  const startedAt = performance.now()
  // The size of compressed or rewritten data is not known in advance.
  const total = kept?.size ?? ((isFar && contentEncoding) || isRewritten(plan) ? undefined : file.bytes)
  let sent = 0
  const stop = showProgress(call.terminal, () => transferLine(sent, total, startedAt))
  const onProgress = ({ bytes }: { bytes: number }) => {
    sent = bytes
  }
  const encoding = contentEncoding && { contentEncoding }
  const cut = { onCut: tellCut(call.terminal), resumableFromBytes: 0 }
  const options = { create, signal, onProgress, ...cut, ...encoding, ...loadParameters(call), ...plan.merge }
  return at(wholeText(sqlOf({ create, copy })), () => client.copyFrom(copy, kept ?? stream, options)).finally(
    async () => {
      stop()
      await kept?.remove()
    },
  )
}
