import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import yauzl from 'yauzl'
import { ImportFailure } from '../import-failure.ts'

/** A file in an archive. Its name is the archive's: text, never a path on this machine. */
export type ZipEntry = Readonly<{ name: string; bytes: number; extract: (path: string) => Promise<void> }>

/** 0: none. */
export type UnpackLimits = Readonly<{
  maxBytes: number
  maxEntries: number
  maxRatio: number
  signal: AbortSignal
}>

/**
 * Opens a zip file and lists its files. Refuses links, names that lead out of it, encryption, and archives that
 * would unpack to too much. `work` may extract entries.
 */
export async function withZip<T>(
  path: string,
  archiveBytes: number,
  limits: UnpackLimits,
  work: (entries: readonly ZipEntry[]) => Promise<T>,
): Promise<T> {
  const archive = await open(path)
  try {
    return await work(await readEntries(archive, archiveBytes, limits))
  } finally {
    archive.close()
  }
}

function open(path: string): Promise<yauzl.ZipFile> {
  const options = { lazyEntries: true, autoClose: false, validateEntrySizes: true, strictFileNames: false }
  return new Promise((resolve, reject) => {
    yauzl.open(path, options, (error, archive) => (error ? reject(broken(error)) : resolve(archive)))
  })
}

const broken = (error: Error) =>
  new ImportFailure(1003, `The archive cannot be opened: ${error.message}`, { cause: error })

function readEntries(
  archive: yauzl.ZipFile,
  archiveBytes: number,
  limits: UnpackLimits,
): Promise<ZipEntry[]> {
  return new Promise((resolve, reject) => {
    const entries: ZipEntry[] = []
    const sum = { count: 0, bytes: 0 }
    archive.on('error', (error: Error) => reject(broken(error)))
    archive.on('end', () => resolve(entries))
    archive.on('entry', (entry: yauzl.Entry) => {
      try {
        sum.count += 1
        sum.bytes += entry.uncompressedSize
        checkSize(sum, archiveBytes, limits)
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

function checkSize(
  { count, bytes }: Readonly<{ count: number; bytes: number }>,
  archiveBytes: number,
  { maxBytes, maxEntries, maxRatio }: UnpackLimits,
): void {
  if (maxEntries > 0 && count > maxEntries)
    throw new ImportFailure(6666, `The archive has more than ${maxEntries} files`)
  if (maxBytes > 0 && bytes > maxBytes) throw tooBig(maxBytes)
  if (maxRatio > 0 && bytes > freeBytes && bytes > maxRatio * archiveBytes)
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
  return {
    name: entry.fileName,
    bytes: entry.uncompressedSize,
    extract: async (path) => {
      await mkdir(dirname(path), { recursive: true })
      try {
        await pipeline(await openEntry(archive, entry), createWriteStream(path, { mode: 0o600 }), { signal })
      } catch (error) {
        signal.throwIfAborted()
        if ((error as NodeJS.ErrnoException).syscall) throw error
        throw broken(error as Error)
      }
    },
  }
}

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
