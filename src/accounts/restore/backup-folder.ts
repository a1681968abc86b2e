import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BackupDocument } from '../../contract/documents.ts'
import { errors } from '../../errors.ts'
import { settlesWithin } from '../../waiting/settles-within.ts'
import { type OpenBackup, readBackup } from './backup-file.ts'

/**
 * The backups in the folder that the service may read, the newest first. Other files are left out. All who ask meanwhile
 * get the same answer, and none waits for longer than a folder on another machine may take.
 */
export async function listBackups(folder: string): Promise<readonly BackupDocument[]> {
  requireFolder(folder)
  let listing = listings.get(folder)
  if (!listing) {
    listing = listFolder(folder).finally(() => listings.delete(folder))
    listings.set(folder, listing)
  }
  if (!(await settlesWithin(listing, longestWaitMs))) throw noAnswer()
  return listing
}

const listings = new Map<string, Promise<readonly BackupDocument[]>>()

const longestWaitMs = 20_000

const noAnswer = () => errors.restoreRefused('The folder of CARTAGE_BACKUP_DIR does not answer in time')

async function listFolder(folder: string): Promise<readonly BackupDocument[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw errors.restoreRefused(`The folder of CARTAGE_BACKUP_DIR cannot be read: ${reasonOf(error)}`)
  })
  const files: Readonly<{ name: string; changedAt: number }>[] = []
  for (const name of names.filter(isBackupName)) {
    const { mtimeMs: changedAt } = await stat(join(folder, name)).catch(() => ({ mtimeMs: 0 }))
    files.push({ name, changedAt })
  }
  const newest = files.sort((a, b) => b.changedAt - a.changedAt).slice(0, mostFiles)
  const found: BackupDocument[] = []
  for (const { name } of newest) {
    const document = await describe(join(folder, name), name).catch(() => undefined)
    if (document) found.push(document)
  }
  return found.sort((a, b) => b.created_at.localeCompare(a.created_at) || a.file.localeCompare(b.file))
}

/** Undefined: it is not a backup. */
async function describe(path: string, file: string): Promise<BackupDocument | undefined> {
  const opened = await readBackup(path)
  if (!opened) return undefined
  opened.tar.destroy()
  const { created_at, version, postgres, has_secret } = opened.note
  return { file, bytes: (await stat(path)).size, created_at, version, postgres, has_secret }
}

/**
 * By its name in the folder: no other file can be named. Nobody waits for longer than the folder may take. The caller reads
 * or destroys it.
 */
export async function openFromFolder(folder: string, file: string): Promise<OpenBackup> {
  requireFolder(folder)
  if (!isBackupName(file)) throw errors.backupUnknown(file.slice(0, 100))
  const open = () =>
    readBackup(join(folder, file)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw errors.backupUnknown(file)
      throw errors.restoreRefused(`The file '${file}' cannot be read: ${reasonOf(error)}`)
    })
  const opened = await openInTime(folder, open, (late) => late?.tar.destroy())
  if (!opened) throw errors.restoreRefused(`The file '${file}' is not a backup of Cartage`)
  return opened
}

/**
 * Opens something in a folder, or throws when the folder takes too long: `close` gets what is opened later. Until then it is
 * not asked again: a read that does not end keeps one of the few threads that all files of the process share.
 */
export async function openInTime<T>(
  folder: string,
  open: () => Promise<T>,
  close: (late: T) => void,
  ms = longestWaitMs,
): Promise<T> {
  if (silentFolders.has(folder)) throw noAnswer()
  const opening = open()
  if (await settlesWithin(opening, ms)) return opening
  silentFolders.add(folder)
  void opening.then(close, () => undefined).finally(() => silentFolders.delete(folder))
  throw noAnswer()
}

const silentFolders = new Set<string>()

function requireFolder(folder: string): void {
  if (!folder) throw errors.backupsOff()
}

const isBackupName = (name: string) => /^[A-Za-z0-9_][\w.+:-]{0,199}$/.test(name)

/** A folder with more has other files, too. */
const mostFiles = 1_000

const reasonOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown error'
