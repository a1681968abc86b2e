import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import yauzl from 'yauzl'
import { ImportFailure } from '../import-failure.ts'

/** A file in an archive. Its name is the archive's: text, never a path on this machine. */
export type ZipEntry = Readonly<{
  name: string
  bytes: number
  extract: (path: string) => Promise<void>
  /** Unpacks it to nowhere. Throws if it has other bytes than it says. */
  check: () => Promise<void>
}>

/** 0: none. */
export type UnpackLimits = Readonly<{
  maxBytes: number
  maxEntries: number
  maxRatio: number
  signal: AbortSignal
}>

/** The archives of one upload, of which one may be in another: they are limited together. */
export type Unpacking = Readonly<{
  uploadBytes: number
  limits: UnpackLimits
  sum: { entries: number; bytes: number }
}>

/**
 * Opens a zip file and lists its files. Refuses links, names that lead out of it, encryption, and archives that
 * would unpack to too much. `work` may extract entries.
 */
export async function withZip<T>(
  path: string,
  unpacking: Unpacking,
  work: (entries: readonly ZipEntry[]) => Promise<T>,
): Promise<T> {
  const archive = await open(path)
  try {
    return await work(await readEntries(archive, unpacking))
  } finally {
    archive.close()
  }
}

/** Checks an archive that another program unpacks, as if it were unpacked here. */
export function checkArchive(path: string, unpacking: Unpacking): Promise<void> {
  return withZip(path, unpacking, async (entries) => {
    for (const entry of entries) await entry.check()
  })
}

function open(path: string): Promise<yauzl.ZipFile> {
  const options = { lazyEntries: true, autoClose: false, validateEntrySizes: true, strictFileNames: false }
  return new Promise((resolve, reject) => {
    yauzl.open(path, options, (error, archive) => (error ? reject(broken(error)) : resolve(archive)))
  })
}

const broken = (error: Error) =>
  new ImportFailure(1003, `The archive cannot be opened: ${error.message}`, { cause: error })

function readEntries(archive: yauzl.ZipFile, unpacking: Unpacking): Promise<ZipEntry[]> {
  const { sum, limits } = unpacking
  return new Promise((resolve, reject) => {
    const entries: ZipEntry[] = []
    archive.on('error', (error: Error) => reject(broken(error)))
    archive.on('end', () => resolve(entries))
    archive.on('entry', (entry: yauzl.Entry) => {
      try {
        sum.entries += 1
        sum.bytes += entry.uncompressedSize
        checkSize(unpacking)
        checkEntry(entry)
      } catch (error) {
        reject(error)
        return
      }
      if (!entry.fileName.endsWith('/')) entries.push(entryOf(archive, entry, limits.signal))
      archive.readEntry()
    })
    archive.readEntry()
  })
}

function checkSize({ uploadBytes, limits, sum }: Unpacking): void {
  const { maxBytes, maxEntries, maxRatio } = limits
  const { entries, bytes } = sum
  if (maxEntries > 0 && entries > maxEntries)
    throw new ImportFailure(6666, `The archive has more than ${maxEntries} files`)
  if (maxBytes > 0 && bytes > maxBytes) throw tooBig(maxBytes)
  if (maxRatio > 0 && bytes > freeBytes && bytes > maxRatio * uploadBytes)
    throw new ImportFailure(6666, `The archive unpacks to more than ${maxRatio} times its size`)
}

export const tooBig = (maxBytes: number) =>
  new ImportFailure(6666, `The archive unpacks to more than ${maxBytes} bytes`)

/** So much may come of a small archive. */
const freeBytes = 1024 * 1024

function checkEntry(entry: yauzl.Entry): void {
  const mode = (entry.externalFileAttributes >>> 16) & 0o170000
  if (mode === 0o120000) throw new ImportFailure(1003, `The archive has a link: ${shownName(entry.fileName)}`)
  if (entry.isEncrypted()) throw new ImportFailure(1018, `${shownName(entry.fileName)} is encrypted`)
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8)
    throw new ImportFailure(1003, `${shownName(entry.fileName)} is compressed in a way that is not supported`)
}

function entryOf(archive: yauzl.ZipFile, entry: yauzl.Entry, signal: AbortSignal): ZipEntry {
  const unpack = async (into: () => Writable) => {
    try {
      await pipeline(await openEntry(archive, entry), into(), { signal })
    } catch (error) {
      signal.throwIfAborted()
      if ((error as NodeJS.ErrnoException).syscall) throw error
      throw broken(error as Error)
    }
  }
  return {
    name: entry.fileName,
    bytes: entry.uncompressedSize,
    extract: async (path) => {
      await mkdir(dirname(path), { recursive: true })
      await unpack(() => createWriteStream(path, { mode: 0o600 }))
    },
    check: () => unpack(nowhere),
  }
}

const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })

function openEntry(archive: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    archive.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)))
  })
}

/** For a sentence. */
export const shownName = (name: string) => {
  const printable = name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?')
  return printable.length > 100 ? `${printable.slice(0, 100)}...` : printable
}
