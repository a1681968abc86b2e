import { createReadStream, createWriteStream } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { UsageError } from '../command-error.ts'
import { withFileName } from '../file-error.ts'
import { untilInterrupted } from '../interrupt.ts'
import { draftName } from '../named-file.ts'
import { readTarEntry, tarEntry } from './tar-entry.ts'

/**
 * The content of `cartage.json`. A backup is one tar: `cartage.json`, then `cartage.secret` (encrypted with a passphrase;
 * may be left out), then the files of the cluster from pg_basebackup.
 */
export type BackupNote = Readonly<{
  format: 1
  version: string
  postgres: number
  namespace: string
  created_at: string
  has_secret: boolean
}>

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

export type OpenBackup = Readonly<{ note: BackupNote; secret: Buffer | undefined; tar: Readable }>

/** Reads the note and the secret of a backup. `tar` is the rest: the files of the cluster. */
export async function openBackup(file: string): Promise<OpenBackup> {
  // Before the stream is made: its error event would come before anything listens.
  const isPacked = await beginsWithGzip(file)
  const source = createReadStream(file, { highWaterMark: 1024 ** 2 })
  const tar = isPacked ? unpacked(source) : source
  const note = await readNote(tar).catch(nothingIfDamaged)
  if (note?.format !== 1) throw new UsageError(`${file} is not a backup of Cartage`)
  const secret = note.has_secret ? await readTarEntry(tar, 64 * 1024) : undefined
  return { note, secret: secret?.content, tar }
}

async function readNote(tar: Readable): Promise<BackupNote | undefined> {
  const first = await readTarEntry(tar, 64 * 1024)
  if (first?.name !== 'cartage.json') return undefined
  return JSON.parse(first.content.toString('utf8')) as BackupNote
}

/** Content that begins like gzip or JSON and is not. */
function nothingIfDamaged(error: NodeJS.ErrnoException): undefined {
  if (!(error instanceof SyntaxError) && !error.code?.startsWith('Z_')) throw error
}

function unpacked(source: Readable): Readable {
  const gunzip = createGunzip()
  // The reader of gunzip gets the error.
  pipeline(source, gunzip).catch(() => undefined)
  return gunzip
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

async function beginsWithGzip(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    if (!(await file.stat()).isFile()) throw new UsageError(`${path} is not a file`)
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await file.close()
  }
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
