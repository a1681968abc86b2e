import type { PoolClient } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import type { Config } from '../../config/config.ts'
import { AppError, errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { ClusterError } from '../../postgres/cluster/cluster-error.ts'
import { temporaryServiceFolder } from '../../postgres/cluster/temporary-cluster.ts'
import { inTransaction, onConnection } from '../../postgres/transaction.ts'
import { Repeated } from '../../waiting/repeated.ts'
import { checkAccountName } from '../account-names.ts'
import type { OpenBackup } from './backup-file.ts'
import { openFromFolder } from './backup-folder.ts'
import { type RestoreDetails, recordRestore } from './restore-audit.ts'
import { checkNewName, restoreUser } from './restore-user.ts'
import { runningBackup } from './running-backup.ts'
import { sayingWhy } from './until-lost.ts'
import {
  beginCopy,
  beginOpening,
  endRestore,
  findRestore,
  giveUpRestore,
  insertRestore,
  isRestoreGivenUp,
  lockRestore,
  noteProgress,
  type UserRestore,
  unfinishedRestores,
} from './user-restore-store.ts'

export type WantedRestore = Readonly<{ file: string; username: string; as: string }>

/**
 * Restores single users from backups in a folder, one at a time, while the service goes on. The process that is asked
 * carries it out, as others may not have the file. Of a process that was killed, another removes the user that was
 * half-made, and ends the restore.
 */
export class UserRestores {
  readonly #installation: Installation
  readonly #config: Pick<Config, 'backupDir' | 'dataDir'>
  readonly #stopping = new AbortController()
  readonly #repair: Repeated
  #work: Promise<void> | undefined

  constructor(installation: Installation, config: Pick<Config, 'backupDir' | 'dataDir'>) {
    this.#installation = installation
    this.#config = config
    this.#repair = new Repeated(
      () => endAbandoned(installation),
      repairMs,
      (error) => installation.log.warn({ err: error }, 'cannot end restores of processes that were killed'),
    )
  }

  start(): void {
    this.#repair.start()
  }

  /** A restore under way is undone. */
  async stop(): Promise<void> {
    this.#repair.stop()
    this.#stopping.abort(errors.restoreRefused('The service was stopped'))
    await this.#work
  }

  /** Answers as soon as it has begun. */
  async request(wanted: WantedRestore): Promise<UserRestore> {
    checkAccountName('username', wanted.username)
    if (this.#work) throw busy()
    let end!: () => void
    // Before anything is waited for: another request may come meanwhile.
    this.#work = new Promise((done) => {
      end = () => {
        this.#work = undefined
        done()
      }
    })
    try {
      return await this.#begin(wanted, end)
    } catch (error) {
      end()
      throw error
    }
  }

  async #begin(wanted: WantedRestore, end: () => void): Promise<UserRestore> {
    const opened = await openFromFolder(this.#config.backupDir, wanted.file)
    try {
      await checkNewName(this.#installation, wanted.as)
      this.#stopping.signal.throwIfAborted()
      const { client, restore } = await this.#record(wanted, opened)
      void this.#carryOut(client, restore, opened).finally(end)
      return restore
    } catch (error) {
      opened.tar.destroy()
      throw error
    }
  }

  /** The connection holds the lock of the restore. */
  async #record({ file, username, as }: WantedRestore, { note }: OpenBackup) {
    const client = await this.#installation.databases.control.connect()
    try {
      const restore = await onConnection(client, async (tx) => {
        const made = await insertRestore(tx, { file, backupOf: note.created_at, username, restoredAs: as })
        // Nobody else knows the id yet.
        await lockRestore(client, made.id)
        await recordRestore(tx, 'restore.requested', as, detailsOf(made))
        return made
      })
      return { client, restore }
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  async #carryOut(client: PoolClient, restore: UserRestore, opened: OpenBackup) {
    const { id } = restore
    const { databases, log } = this.#installation
    const lost = new AbortController()
    client.once('end', () =>
      lost.abort(errors.restoreRefused('The connection to the control database was lost')),
    )
    client.once('error', () => undefined)
    const signal = AbortSignal.any([this.#stopping.signal, lost.signal])
    try {
      const failure = await untilGivenUp(this.#installation, id, signal, (either) =>
        this.#perform(restore, either, opened),
      ).catch((error: unknown) => explain(this.#installation, error))
      // Without a failure it is past the phase in which it can fail.
      await endRestore(databases.control, id, failure ?? 'It ended before its user was made')
    } catch (error) {
      log.warn({ err: error }, 'cannot record the end of a restore: repair records it')
    } finally {
      opened.tar.destroy()
      // The lock goes with the connection.
      client.release(true)
    }
  }

  async #perform(restore: UserRestore, signal: AbortSignal, opened: OpenBackup): Promise<undefined> {
    const { control } = this.#installation.databases
    const { id, username, restoredAs } = restore
    const folder = temporaryServiceFolder(this.#config.dataDir)
    const running = { folder, opened, log: this.#installation.log, signal }
    await runningBackup(running, async (backup) => {
      if (!(await beginCopy(control, id))) throw errors.restoreRefused(givenUp)
      await restoreUser(this.#installation, backup, {
        username,
        as: restoredAs,
        details: detailsOf(restore),
        signal,
        noteProgress: (percent) => noteProgress(control, id, percent).catch(() => undefined),
        alsoDo: async (tx, keys) => {
          if (!(await beginOpening(tx, id, keys))) throw errors.restoreRefused(givenUp)
        },
      })
    })
  }
}

const detailsOf = ({ id, username, file, backupOf }: UserRestore): RestoreDetails => ({
  id,
  from: username,
  file,
  backup_of: backupOf.toISOString(),
})

/** How long the restore of a killed process keeps its phase. */
const repairMs = 10_000

const busy = () => errors.restoreRefused('This process restores another user: try again when that has ended')

const givenUp = 'The restore was given up'

/** Gives a restore up, unless its user is made already. The process that works on it notices within about a second. */
export async function cancelRestore({ databases }: Installation, id: number): Promise<UserRestore> {
  return inTransaction(databases.control, async (tx) => {
    const found = await findRestore(tx, id)
    if (!found) throw errors.restoreUnknown(String(id))
    if (found.phase === 'undoing' || found.phase === 'failed') return found
    if (!(await giveUpRestore(tx, id, 'Cancelled by the operator'))) {
      const now = await findRestore(tx, id)
      // It has ended meanwhile.
      if (now?.phase === 'failed') return now
      throw errors.restoreRefused(`The restore ${id} is past its end: the user '${found.restoredAs}' is made`)
    }
    await recordAudit(tx, {
      actor: operator,
      action: 'restore.cancelled',
      account: found.restoredAs,
      details: { id },
    })
    return (await findRestore(tx, id))!
  })
}

/** Of processes that have ended, or have lost the connection with the lock. The user that one has half-made is removed by the repair of accounts. */
export async function endAbandoned({ databases: { control } }: Installation): Promise<void> {
  for (const id of await unfinishedRestores(control)) {
    const client = await control.connect()
    try {
      if (await lockRestore(client, id))
        await endRestore(
          client,
          id,
          'The process that carried it out has ended, or has lost the control database',
        )
    } finally {
      client.release(true)
    }
  }
}

/** Aborts when the restore is cancelled, here or in another process. */
async function untilGivenUp<T>(
  { databases: { control } }: Installation,
  id: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cancelled = new AbortController()
  const look = async () => {
    if (await isRestoreGivenUp(control, id)) cancelled.abort(errors.restoreRefused(givenUp))
  }
  const timer = new Repeated(look, 1_000, () => undefined)
  timer.start()
  try {
    return await sayingWhy(AbortSignal.any([signal, cancelled.signal]), work)
  } finally {
    timer.stop()
  }
}

function explain({ log }: Installation, error: unknown): string {
  if (!(error instanceof AppError || error instanceof ClusterError))
    log.error({ err: error }, 'the restore of a user failed')
  const text = error instanceof Error ? error.message : String(error)
  // Code of the tenant may have written it.
  return text.slice(0, 2_000)
}
