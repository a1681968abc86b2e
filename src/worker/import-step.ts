import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../auth/account.ts'
import { masterTargetOf } from '../auth/account.ts'
import { isFinal } from '../contract/job-status.ts'
import { tellReplicas } from '../hosts/replicas/fence-replicas.ts'
import { ImportFailure } from '../imports/import-failure.ts'
import type { ImportRecord, ImportResult } from '../imports/import-record.ts'
import {
  beginAttempt,
  endAttempt,
  findImport,
  importRole,
  undoAttempt,
  writeProgress,
  writeResult,
} from '../imports/import-store.ts'
import { boundResults } from '../imports/kept-results.ts'
import { failureOf } from '../imports/load/database-fault.ts'
import { skippedResult } from '../imports/load/finish-tables.ts'
import { type Loading, ProgressMeter, Warnings } from '../imports/load/loading.ts'
import { Rejects } from '../imports/load/rejects.ts'
import { rejectedOf, runLoad } from '../imports/load/run-load.ts'
import { prepareImport } from '../imports/prepare-import.ts'
import { isOlder } from '../imports/spool.ts'
import type { Job } from '../jobs/job.ts'
import { accepted, beginStep, stepFailed, stepSucceeded } from '../jobs/job-state.ts'
import type { Flight } from '../jobs/job-store.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isUnconfirmed, type WireError } from '../postgres/wire/wire-error.ts'
import { userDataSize } from '../usage/user-data-size.ts'
import type { JobRun } from './job-run.ts'
import { openSession } from './open-session.ts'
import { announce, type LeaveReason, release } from './record-run.ts'
import { abandonJob, beginStepAgain, clip, settleLoss, stopStep } from './run-step.ts'
import { beginTransaction, commit } from './statement.ts'
import type { WorkContext } from './work-context.ts'

/**
 * Runs an import, the one step of its job: unpacks its file, then loads it in one transaction as the role of its key.
 * Begun, announced and settled as a statement of any job, so its outcome is known after any crash.
 */
export async function runImport(context: WorkContext, run: JobRun): Promise<LeaveReason | undefined> {
  const { databases, imports, interrupted } = context
  const { job, claimed } = run
  const record = await findImport(databases.control, claimed, job.id)
  const owner = record && (await importRole(databases.control, claimed, record.keyId))
  if (!record || !owner) return abandonJob(run, keyEnded)
  if (record.spool !== null && !(await isHere(context, record, job.id)))
    return waitForFile(context, run, owner.resumedAt)
  if (!(await imports.slots.take(interrupted))) return release(context, run)
  const work = new ImportWork(context, run, record, owner)
  try {
    const interruption = await work.run()
    const isCut = !interruption && interrupted.aborted && !isFinal(run.job.status)
    if (interruption === 'released' || isCut) await undoAttempt(databases.control, claimed, job.id)
    return interruption
  } finally {
    imports.slots.give()
    work.end()
    await endAttempt(databases.control, claimed).catch((error: unknown) =>
      context.log.warn({ err: error, jobId: job.id }, 'cannot record that an import is no longer running'),
    )
  }
}

const keyEnded = 'The key that made the import was deleted, has expired or lost the SQL API'

async function isHere(
  { imports }: WorkContext,
  { spool: wanted }: ImportRecord,
  id: string,
): Promise<boolean> {
  const spool = await imports.spool()
  return spool.id === wanted && (await spool.has(id))
}

/** Another machine has the file. Its workers get the job when we give it back, but not while its user is suspended. */
async function waitForFile(
  context: WorkContext,
  run: JobRun,
  resumedAt: Date | null,
): Promise<LeaveReason | undefined> {
  const { createdAt } = run.job
  if (isOlder(resumedAt && resumedAt > createdAt ? resumedAt : createdAt, longestWaitMs)) {
    failBefore(run, 'The file of the import is gone')
    return undefined
  }
  await sleep(elsewhereMs, undefined, { signal: context.interrupted }).catch(() => undefined)
  return release(context, run)
}

const elsewhereMs = 1_000
const longestWaitMs = 86_400_000

function failBefore(run: JobRun, reason: string): void {
  run.advance(stepFailed(accepted(beginStep(run.job, new Date())), clip(reason), new Date()))
}

/** Empty if the backend is gone: then nothing can be begun on it. */
async function backendStartOf({ databases }: WorkContext, { target, processId }: Session): Promise<string> {
  const { rows } = await databases.admin.use(adminTarget(databases.hosts, target.hostId), (administrator) =>
    administrator.query<{ start: string }>(
      'select a.backend_start::pg_catalog.text as start from pg_catalog.pg_stat_get_activity($1) a',
      [processId],
    ),
  )
  return rows[0]?.start ?? ''
}

type ImportOwner = Readonly<{ account: Account; role: string }>

/** One attempt at an import. */
class ImportWork {
  readonly #context: WorkContext
  readonly #run: JobRun
  readonly #record: ImportRecord
  readonly #owner: ImportOwner
  readonly #meter: ProgressMeter
  readonly #warnings = new Warnings()
  readonly #rejects: Rejects | undefined
  readonly #stop = new AbortController()
  #isLate = false
  #isWriting = false
  readonly #timers: NodeJS.Timeout[]
  readonly #onInterrupt = () => this.#stop.abort()

  constructor(context: WorkContext, run: JobRun, record: ImportRecord, owner: ImportOwner) {
    this.#context = context
    this.#run = run
    this.#record = record
    this.#owner = owner
    this.#meter = new ProgressMeter(record.progress)
    const { maxBadRows, listsAllRejects = false } = record.options
    this.#rejects = maxBadRows === undefined ? undefined : new Rejects(maxBadRows, listsAllRejects)
    context.interrupted.addEventListener('abort', this.#onInterrupt, { once: true })
    this.#timers = [setInterval(() => this.#tick(), tickMs)]
  }

  async run(): Promise<LeaveReason | undefined> {
    const { claimed } = this.#run
    const attempt = await beginAttempt(this.#context.databases.control, claimed)
    if (attempt === undefined) return 'no longer ours'
    if (attempt > mostAttempts)
      return this.#fail(
        new ImportFailure(6671, `The import was begun ${mostAttempts} times and never came to an end`),
      )
    const limit = setTimeout(() => this.#timeOut(), this.#limitMs)
    this.#timers.push(limit)
    try {
      return await this.#attempt()
    } catch (error) {
      if (this.#isLate) return this.#fail(new ImportFailure(6667, 'The import took too long'))
      if (this.#stop.signal.aborted) return this.#leave()
      const failure = failureOf(error)
      if (!failure) throw error
      return this.#fail(failure)
    }
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#context.interrupted.removeEventListener('abort', this.#onInterrupt)
  }

  get #limitMs(): number {
    return this.#context.config.importTimeoutMs
  }

  async #attempt(): Promise<LeaveReason | undefined> {
    const taken = new Set<string>()
    const { collision, isPreview } = this.#record.options
    if (collision === 'skip' && !isPreview) {
      const opened = await this.#open()
      if ('left' in opened) return opened.left
      for (const name of await this.#namesInSchema(opened.session)) taken.add(name)
    }
    const { imports } = this.#context
    const [prepared, converter] = await Promise.all([this.#prepare(taken), imports.converter()])
    const { inputs, skipped } = prepared
    return inputs.length === 0 && skipped.length > 0 ? this.#skip(skipped) : this.#load(prepared, converter)
  }

  #prepare(taken: ReadonlySet<string>) {
    return prepareImport({
      imports: this.#context.imports,
      id: this.#run.job.id,
      record: this.#record,
      taken,
      meter: this.#meter,
      warnings: this.#warnings,
      signal: this.#stop.signal,
    })
  }

  async #load(
    prepared: Awaited<ReturnType<typeof prepareImport>>,
    converter: Loading['converter'],
  ): Promise<LeaveReason | undefined> {
    const context = this.#context
    const run = this.#run
    const opened = await this.#open()
    if ('left' in opened) return opened.left
    const { session } = opened
    run.beginStep(session)
    const begun = await beginTransaction(session, await backendStartOf(context, session))
    if (begun.kind === 'not-sent') return beginStepAgain(context, run, begun.cause)
    const stop = await announce(context, run, begun.flight)
    if (stop === 'gone')
      return beginStepAgain(context, run, new Error('its host does not know the connection'))
    if (stop) return stopStep(run, stop)
    const cut = () => void session.destroy().catch(() => undefined)
    this.#stop.signal.addEventListener('abort', cut, { once: true })
    if (this.#stop.signal.aborted) cut()
    return this.#store(session, begun.flight, { ...prepared, converter })
  }

  /** A connection as the role of the key; or the attempt ends without one. */
  async #open(): Promise<Readonly<{ session: Session }> | Readonly<{ left: LeaveReason | undefined }>> {
    const context = this.#context
    const { account, role } = this.#owner
    if (!(await this.#hasKey())) return { left: abandonJob(this.#run, keyEnded) }
    const target = { ...masterTargetOf(account), role }
    const opened = await openSession(context, { claimed: { target }, session: null, isBegunAhead: false })
    if (opened.kind === 'vanished') return { left: abandonJob(this.#run, opened.reason) }
    if (opened.kind === 'unreachable') return { left: await release(context, this.#run) }
    return { session: opened.session }
  }

  async #store(
    session: Session,
    flight: Flight,
    { converter, ...prepared }: Awaited<ReturnType<typeof prepareImport>> & Pick<Loading, 'converter'>,
  ): Promise<LeaveReason | undefined> {
    const { imports, databases } = this.#context
    const { account } = this.#owner
    let isStored = false
    let close: (isStored: boolean) => void = () => undefined
    try {
      const share = await imports.quotas.join(account, () => userDataSize(databases, account))
      close = share.close
      const result = await runLoad(this.#loading(session, converter, share.spend), prepared, this.#limitMs)
      if (this.#record.options.isPreview) return await this.#endPreview(session, result)
      if (!(await this.#hasKey())) throw new ImportFailure(2001, keyEnded)
      if (!(await this.#save(result))) return await this.#lost(flight, new Error('its claim was lost'))
      if (!(await this.#commit(session, flight.xid!)))
        return await this.#lost(flight, new Error('the commit was not confirmed by the replicas'))
      isStored = true
      await this.#tellReplicas()
      this.#run.advance(stepSucceeded(this.#run.job, new Date()))
      return undefined
    } catch (error) {
      const failure = failureOf(error)
      if (!failure || this.#stop.signal.aborted) return await this.#lost(flight, error)
      await session.clean().catch(() => session.destroy())
      return await this.#fail(failure)
    } finally {
      close(isStored)
    }
  }

  /** The import may have waited for its slot, its download or its rows for an hour. */
  async #hasKey(): Promise<boolean> {
    const { databases } = this.#context
    return (await importRole(databases.control, this.#run.claimed, this.#record.keyId)) !== undefined
  }

  /** False: it is committed, but a synchronous replica may lack it. */
  async #commit(session: Session, xid: string): Promise<boolean> {
    let isConfirmed = true
    const notice = (words: WireError) => {
      if (isUnconfirmed(words)) isConfirmed = false
    }
    const { error } = await session.send(commit(this.#run, xid), { notice }).done
    if (error) throw new ImportFailure(2001, error.message)
    return isConfirmed
  }

  /** The table may have been public before: from the end of the import on no replica shows it. */
  async #tellReplicas(): Promise<void> {
    const { collision, privacy } = this.#record.options
    if (collision !== 'overwrite' || privacy !== 'private') return
    const { databases, log } = this.#context
    await tellReplicas(databases, this.#owner.account, log)
  }

  /** Nothing of it stays but what it tells. */
  async #endPreview(session: Session, result: ImportResult): Promise<LeaveReason | undefined> {
    await session.clean().catch(() => session.destroy())
    if (!(await this.#save(result))) return 'no longer ours'
    this.#run.advance(stepSucceeded(this.#run.job, new Date()))
    return undefined
  }

  #loading(session: Session, converter: Loading['converter'], spend: Loading['spend']): Loading {
    const { config } = this.#context
    return {
      session,
      account: this.#owner.account,
      importId: this.#run.job.id,
      options: this.#record.options,
      converter,
      spend,
      meter: this.#meter,
      warnings: this.#warnings,
      rejects: this.#rejects,
      stages: [],
      maxRows: config.importMaxRows,
      maxTables: config.importMaxTables,
      signal: this.#stop.signal,
    }
  }

  /** The connection is gone, or was cut by us: PostgreSQL knows whether the import happened. */
  async #lost(flight: Flight, error: unknown): Promise<LeaveReason | undefined> {
    await this.#run.session?.destroy()
    this.#context.log.warn({ err: error, jobId: this.#run.job.id }, 'an import lost its connection')
    const loss = { isTimedOut: this.#isLate, isInnocent: false, isCut: true }
    const reason = (error as Error).message
    const interruption = await settleLoss(this.#context, this.#run, { kind: 'lost', flight, reason, ...loss })
    if (interruption) return interruption
    if (this.#run.job.status !== 'failed') {
      await this.#tellReplicas().catch((cause: unknown) =>
        this.#context.log.warn(
          { err: cause, jobId: this.#run.job.id },
          'cannot set the fence of replicas for a private table',
        ),
      )
      return undefined
    }
    const failure = this.#isLate
      ? new ImportFailure(6667, 'The import took too long')
      : new ImportFailure(6671, reason)
    await this.#save({
      tables: [],
      created: 0,
      warnings: {},
      error: { code: failure.code, text: failure.message },
    })
    return undefined
  }

  /** Releases the session: no connection waits while the file is read. */
  async #namesInSchema(session: Session): Promise<readonly string[]> {
    try {
      const { rows } = await session.query<{ name: string }>(
        `select c.relname as name from pg_catalog.pg_class c
         join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
         where n.nspname operator(pg_catalog.=) $1`,
        [this.#owner.account.schema],
      )
      return rows.map(({ name }) => name)
    } finally {
      session.release()
    }
  }

  /** With the strategy `skip`: all tables of the import are there. */
  async #skip(tables: readonly string[]): Promise<LeaveReason | undefined> {
    this.#meter.finish(0)
    await this.#save(skippedResult(tables, this.#warnings))
    this.#run.advance(stepSucceeded(this.#begunJob(), new Date()))
    return undefined
  }

  async #fail({ code, message }: ImportFailure): Promise<LeaveReason | undefined> {
    const warnings = this.#warnings.document
    const rejected = this.#rejects && rejectedOf(this.#rejects)
    await this.#save({ tables: [], created: 0, warnings, rejected, error: { code, text: clip(message) } })
    this.#run.advance(stepFailed(this.#begunJob(), clip(message), new Date()))
    return undefined
  }

  /** Its step has begun, with a connection or without. */
  #begunJob(): Job {
    const { job } = this.#run
    return job.items[0]!.status === 'running' ? job : accepted(beginStep(job, new Date()))
  }

  /** Stopped: the worker is to end, or the import was cancelled. */
  #leave(): Promise<LeaveReason> | LeaveReason {
    return this.#context.interrupted.aborted ? release(this.#context, this.#run) : 'no longer ours'
  }

  async #save(result: ImportResult): Promise<boolean> {
    const { databases, log } = this.#context
    const { claimed } = this.#run
    const isSaved = await writeResult(databases.control, claimed, result, this.#meter.progress)
    if (isSaved && (result.rejected || result.preview))
      await boundResults(databases.control, claimed.userId).catch((error: unknown) =>
        log.warn({ err: error }, 'cannot bound the rejected rows that are kept'),
      )
    return isSaved
  }

  #timeOut(): void {
    this.#isLate = true
    this.#stop.abort()
  }

  /** Tells how far it is, and finds out that it was cancelled. */
  async #tick(): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    try {
      const { control } = this.#context.databases
      const { phase, progress } = this.#meter
      if (!(await writeProgress(control, this.#run.claimed, phase, progress))) this.#stop.abort()
    } catch {
      // The control database does not answer: the next tick tries again.
    } finally {
      this.#isWriting = false
    }
  }
}

const tickMs = 1_000
const mostAttempts = 3
