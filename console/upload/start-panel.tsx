import { loadQuery } from '../../src/client/api/copy-upload.ts'
import { type ImportPlan, importStatements } from '../../src/file-import/import-plan.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import { isRewritten } from '../../src/file-import/rewrite-rows.ts'
import { curlLine, quoteShell } from '../api/curl.ts'
import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatBytes } from '../parts/format.ts'
import { useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import type { FileHead } from './file-protocol.ts'
import type { Planned } from './wanted-import.ts'

type StartProps = Readonly<{
  file: File
  head: FileHead
  reading: FileReading
  planned: Planned
  start: () => void
}>

/** The problems, the SQL of each step, and the Start button. */
export function StartPanel({ file, head, reading, planned, start }: StartProps) {
  const limits = useLoaded(readLimits, [session.value])
  const problems = [...planned.problems, ...tooLarge(head, reading, limits.value)]
  return (
    <>
      {problems.length > 0 && (
        <Notice kind="warning">
          {problems.map((problem) => (
            <p key={problem}>{problem}</p>
          ))}
        </Notice>
      )}
      <div class="row">
        <button type="button" class="primary" disabled={problems.length > 0} onClick={start}>
          {actOf(planned.plan)}
        </button>
        {!reading.isWhole && problems.length === 0 && (
          <span class="muted">You can start now. The types come from the part read so far.</span>
        )}
      </div>
      <Sql file={file} head={head} planned={planned} />
    </>
  )
}

function actOf({ isNew, merge, table }: ImportPlan): string {
  if (isNew) return `Create table ${table}`
  return merge ? `Merge into ${table}` : `Append to ${table}`
}

function Sql({ file, head, planned }: Pick<StartProps, 'file' | 'head' | 'planned'>) {
  const { create, copy, after } = importStatements(planned.plan)
  const { merge } = planned.plan
  const all = [create, copy, ...after].filter((statement) => statement !== undefined)
  const curl = curlLine('copyFrom', {
    username: session.value!.username,
    query: { q: copy, ...loadQuery({ ...merge }) },
  })
  const encoding = head.isGzip ? " -H 'Content-Encoding: gzip'" : ''
  return (
    <details class="panel">
      <summary>Show the SQL of each step</summary>
      <div class="stack">
        <CodeBlock label="SQL of the upload" text={all.map((statement) => `${statement};`).join('\n')} />
        {!head.isGeojson && !isRewritten(planned.plan) && (
          <CodeBlock
            label="Send the rows with curl"
            text={`${curl}${encoding} -T ${quoteShell(file.name)}`}
          />
        )}
      </div>
    </details>
  )
}

type Limits = Readonly<{ copyMaxBytes: number | undefined; remainingBytes: number | undefined }>

async function readLimits(signal: AbortSignal): Promise<Limits> {
  const { user_data: told } = await requestJson<{
    user_data: { copy_max_bytes?: number; remaining_byte_quota?: number }
  }>('whoAmI', { signal })
  return { copyMaxBytes: told.copy_max_bytes, remainingBytes: told.remaining_byte_quota }
}

function tooLarge({ body }: FileHead, { bytes }: FileReading, limits: Limits | undefined): string[] {
  const { copyMaxBytes = Number.POSITIVE_INFINITY, remainingBytes = Number.POSITIVE_INFINITY } = limits ?? {}
  return [
    body.size > copyMaxBytes &&
      `The file has ${formatBytes(body.size)}, the limit is ${formatBytes(copyMaxBytes)}. Compress it with gzip, or split it.`,
    Math.max(bytes, body.size) > remainingBytes &&
      `The file has ${formatBytes(Math.max(bytes, body.size))}, your quota has ${formatBytes(remainingBytes)} left.`,
  ].filter((problem) => typeof problem === 'string')
}
