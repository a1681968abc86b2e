import type { Principal } from '../auth/account.ts'
import { AppError, errors } from '../errors.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import { runAs } from '../statements/run-as.ts'
import type { StatementRun } from '../statements/statement-run.ts'
import { userDataSize } from '../usage/user-data-size.ts'
import { clearPages } from './clear-pages.ts'
import { type Copies, copyOptions } from './copies.ts'
import { CopyRun, type LoadRecord } from './copy-run.ts'
import { checkLoad, type Loaded, type LoadInput, type LoadOptions, loadRows } from './load/load.ts'
import { pumpIntoCopy } from './pump-into-copy.ts'
import type { QuotaShare } from './quota-ledger.ts'
import type { Upload } from './upload.ts'

/** Without options a plain COPY; see LoadOptions. */
export type Load = Readonly<{
  statement: CopyStatement
  upload: Upload
  options: LoadOptions
  record?: LoadRecord<Loaded> | undefined
}>

/**
 * Stores an upload with COPY ... FROM STDIN as the key's own role: all of it or nothing, including the table that its
 * statement may create. The body is not read before PostgreSQL asks for it.
 */
export async function copyFrom(
  copies: Copies,
  principal: Principal,
  { statement, upload, options, record }: Load,
): Promise<Loaded> {
  const load = options.skip || options.merge ? checkLoad(statement, options) : undefined
  const settings = copyOptions(copies, principal, statement, upload.gone)
  return runAs(copies.databases, principal, settings, async (run) => {
    const share = await shareOfQuota(copies, principal, statement, run)
    let isStored = false
    try {
      const input = { run, statement, upload, share, maxBytes: copies.maxBytes, record }
      const loaded = load ? await loadRows(input, load, options) : { rows: await store(input) }
      isStored = true
      return loaded
    } catch (error) {
      if (isOverQuota(error)) await clearPages(copies.databases, principal.account, statement)
      throw error
    } finally {
      share.close(isStored)
    }
  })
}

async function shareOfQuota(
  copies: Copies,
  principal: Principal,
  statement: CopyStatement,
  run: StatementRun,
): Promise<QuotaShare> {
  const joining = joinQuota(copies, principal, statement)
  return run.prepare(joining).catch((error: unknown) => {
    // A share that arrives too late is given back.
    joining.then((late) => late.close(false)).catch(() => undefined)
    throw error
  })
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
    // Pages of an upload that was rolled back may use the space.
    await clearPages(databases, account, statement)
    return join()
  }
}

const isOverQuota = (error: unknown) => error instanceof AppError && error.code === 'quota-exceeded'

async function store(input: LoadInput): Promise<number> {
  const { run, statement, record } = input
  const copy = new CopyRun(run)
  const { pump, handler } = pumpIntoCopy(input, () => copy.store())
  try {
    const rows = await copy.copy(
      statement,
      handler,
      record && { begun: record.begun, sent: (sent) => record.sent({ rows: sent }) },
    )
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
