import { constants, createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { readTarEntry } from './read-tar-entry.ts'

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

export type OpenBackup = Readonly<{ note: BackupNote; secret: Buffer | undefined; tar: Readable }>

/**
 * Reads the note and the secret of a backup. `tar` is the rest, the files of the cluster: the caller reads or destroys
 * it. Undefined: the file is not a backup.
 */
export async function readBackup(file: string): Promise<OpenBackup | undefined> {
  // Before the stream is made: its error event would come before anything listens.
  const isPacked = await beginsWithGzip(file)
  if (isPacked === undefined) return undefined
  const source = createReadStream(file, { highWaterMark: 1024 ** 2 })
  const tar = isPacked ? unpacked(source) : source
  const note = await readNote(tar).catch(nothingIfDamaged)
  // Who reads it later gets its error. Until then nobody listens, and it reads ahead.
  tar.on('error', () => undefined)
  if (!note) {
    tar.destroy()
    source.destroy()
    return undefined
  }
  const secret = note.has_secret ? await readTarEntry(tar, 64 * 1024) : undefined
  return { note, secret: secret?.content, tar }
}

async function readNote(tar: Readable): Promise<BackupNote | undefined> {
  const first = await readTarEntry(tar, 64 * 1024)
  if (first?.name !== 'cartage.json') return undefined
  const note: unknown = JSON.parse(first.content.toString('utf8'))
  return isNote(note) ? note : undefined
}

/** Anybody may have written it: each member goes into answers of the API, tables or the choice of programs. */
function isNote(note: unknown): note is BackupNote {
  const { format, version, postgres, namespace, created_at, has_secret } = Object(note) as Partial<BackupNote>
  return (
    format === 1 &&
    typeof version === 'string' &&
    /^[\w.+-]{1,100}$/.test(version) &&
    Number.isInteger(postgres) &&
    isNamespace(namespace) &&
    isTime(created_at) &&
    typeof has_secret === 'boolean'
  )
}

const isNamespace = (text: unknown) => typeof text === 'string' && /^[a-z][a-z0-9_]{0,30}$/.test(text)

/** As toISOString() writes it, and of a year that PostgreSQL and JavaScript both know. */
function isTime(text: unknown): boolean {
  if (typeof text !== 'string' || !/^[1-9]\d{3}-[\dT:.-]+Z$/.test(text)) return false
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString() === text
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

/** Undefined: it is no file. A pipe is opened without waiting for who writes into it. */
async function beginsWithGzip(path: string): Promise<boolean | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return undefined
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await file.close()
  }
}
