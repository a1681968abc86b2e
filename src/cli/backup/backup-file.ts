import { createWriteStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type BackupNote, type OpenBackup, readBackup } from '../../accounts/restore/backup-file.ts'
import { UsageError } from '../command-error.ts'
import { withFileName } from '../file-error.ts'
import { untilInterrupted } from '../interrupt.ts'
import { draftName } from '../named-file.ts'
import { tarEntry } from './tar-entry.ts'

/** Writes and syncs the file. If it fails or is interrupted, no file is left. */
export async function writeBackup(
  file: string,
  note: BackupNote,
  secret: Buffer | undefined,
  fill: (write: (tar: Readable) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (await isThere(file)) throw new UsageError(`${file} exists already`)
  const part = draftName(file)
  const entries = [
    tarEntry('cartage.json', Buffer.from(`${JSON.stringify(note, null, 2)}\n`)),
    ...(secret ? [tarEntry('cartage.secret', secret)] : []),
  ]
  try {
    await untilInterrupted((signal) =>
      fill(async (tar) => {
        const whole = Readable.from(concatenate(entries, tar))
        const steps: Transform[] = isCompressed(file) ? [createGzip({ level: 1, chunkSize: 256 * 1024 })] : []
        await pipeline([whole, ...steps, createWriteStream(part, { flags: 'wx', mode: 0o600 })], { signal })
      }),
    )
    await syncPath(part)
    await rename(part, file)
    await syncPath(dirname(file))
  } catch (error) {
    await rm(part, { force: true })
    throw withFileName(error, file)
  }
}

export async function openBackup(file: string): Promise<OpenBackup> {
  const opened = await readBackup(file)
  if (!opened) throw new UsageError(`${file} is not a backup of Cartage`)
  return opened
}

const isCompressed = (file: string) => /\.(gz|tgz)$/.test(file)

async function* concatenate(entries: readonly Buffer[], tar: Readable): AsyncGenerator<Buffer> {
  yield* entries
  yield* tar
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
