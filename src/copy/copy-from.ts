import type { Account, Principal } from '../auth/account.ts'
import { blameRevocation } from '../auth/lend-session.ts'
import { AppError, errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Interruption } from '../postgres/pools/interruption.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import { clearPages } from './clear-pages.ts'
import { type Copies, copyLimitMs, openCopySession } from './copies.ts'
import { CopyRun } from './copy-run.ts'
import type { QuotaShare } from './quota-ledger.ts'
import type { Upload } from './upload.ts'
import { UploadPump } from './upload-pump.ts'

/**
 * Stores an upload with COPY ... FROM STDIN as the key's own role: all of it or nothing, and so the table
 * that its statement may make. Nothing of the body is read before PostgreSQL asks for it. Resolves to the rows.
 */
export async function copyFrom(
  copies: Copies,
  principal: Principal,
  statement: CopyStatement,
  upload: Upload,
): Promise<number> {
  const session = await openCopySession(copies, principal, statement, upload.gone)
  const endsAt = performance.now() + copyLimitMs(copies, principal)
  const joining = joinQuota(copies, principal, statement)
  const share = await untilStopped(joining, endsAt, upload.gone).catch((error: unknown) => {
    session.release()
    // One that comes too late is given back.
    joining.then((late) => late.close(false)).catch(() => undefined)
    throw error
  })
  let isStored = false
  try {
    const limitMs = Math.max(1, endsAt - performance.now())
    const stored = store({ ...copies, limitMs }, session, statement, upload, share)
    const rows = await blameRevocation(principal, stored)
    isStored = true
    return rows
  } catch (error) {
    if (isOverQuota(error)) await clearPages(copies.databases, principal.account, statement)
    throw error
  } finally {
    share.close(isStored)
  }
}

/** What `work` answers, unless the time limit or the end of the client comes first. */
async function untilStopped<T>(work: Promise<T>, endsAt: number, gone: Interruption): Promise<T> {
  const stop = new AbortController()
  const onGone = () => stop.abort(errors.clientLeft())
  const timer = setTimeout(() => stop.abort(errors.statementTimeout()), endsAt - performance.now())
  gone.addEventListener('abort', onGone)
  if (gone.aborted) onGone()
  try {
    return await unlessAborted(stop.signal, work)
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', onGone)
  }
}

async function joinQuota(
  { databases, quotas }: Copies,
  { account }: Principal,
  statement: CopyStatement,
): Promise<QuotaShare> {
  const join = () => quotas.join(account, () => userDataSize(databases, account))
  try {
    return await join()
  } catch (error) {
    if (!isOverQuota(error)) throw error
    // The space may be taken by pages of an upload that was rolled back.
    await clearPages(databases, account, statement)
    return join()
  }
}

/** Bytes that the account stores. */
async function userDataSize(
  { admin, hosts }: Databases,
  { hostId, database, schema }: Account,
): Promise<number> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<{ bytes: string }>('select cartodb.cdb_userdatasize($1) as bytes', [schema]),
  )
  return Number(rows[0]!.bytes)
}

const isOverQuota = (error: unknown) => error instanceof AppError && error.code === 'quota-exceeded'

async function store(
  { databases, limitMs, maxBytes }: Copies,
  session: Session,
  statement: CopyStatement,
  upload: Upload,
  share: QuotaShare,
): Promise<number> {
  const run = new CopyRun({ databases, session, limitMs, gone: upload.gone })
  const pump = new UploadPump(upload, maxBytes, {
    write: (chunk, sent) => {
      share.spend(chunk.length)
      return run.wire.sendCopyData(chunk, sent)
    },
    end: () => run.store(),
    fail: (reason) => run.stop(reason),
  })
  try {
    const rows = await run.copy(statement, {
      feedCopy: () => pump.start(),
      copyDrained: () => pump.resume(),
      stopped: () => {
        pump.stop()
        run.wire.failCopy('the upload was stopped')
      },
    })
    if (rows === 0) throw errors.noRowsCopied()
    return rows
  } catch (error) {
    throw withHint(error, pump.unannouncedCompression)
  } finally {
    pump.stop()
  }
}

function withHint(error: unknown, compression: string | undefined): unknown {
  if (!(error instanceof AppError) || error.code !== 'database' || !compression) return error
  const hint = `The body looks like a ${compression} file: send it ${advice[compression] ?? 'decompressed'}`
  return new AppError(error.code, error.kind, error.message, { ...error.extras, hint })
}

const advice: Record<string, string> = {
  gzip: 'with the header "Content-Encoding: gzip"',
  zstd: 'with the header "Content-Encoding: zstd"',
}
