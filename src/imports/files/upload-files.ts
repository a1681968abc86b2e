import { createReadStream, createWriteStream } from 'node:fs'
import { link, mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { otherKind } from '../../file-import/other-kind.ts'
import { ImportFailure } from '../import-failure.ts'
import { archiveGroups } from './archive-groups.ts'
import { type FileKind, isArchive, isGzip, isZip, kindByName, looksLike, takenKinds } from './file-kinds.ts'
import { checkArchive, shownName, tooBig, type Unpacking, type UnpackLimits, withZip } from './unpack-zip.ts'

/** A file to load, in a folder of its own, under a name of ours. */
export type InputFile = Readonly<{
  kind: FileKind
  folder: string
  /** In `folder`. */
  file: string
  bytes: number
  /** The name that the client gave; in an archive, the name in the archive. */
  name: string
  isInArchive: boolean
  /** A shapefile says how its text is encoded. */
  tellsEncoding?: boolean | undefined
}>

export type UploadFiles = Readonly<{ inputs: readonly InputFile[]; skipped: readonly string[] }>

/** Of all archives of an upload. */
export const maxEntries = 1_000

/** What an uploaded file is, or holds: by its content and its name, which must agree. */
export async function openUpload(
  path: string,
  name: string,
  folder: string,
  limits: UnpackLimits,
): Promise<UploadFiles> {
  const { size } = await stat(path)
  if (size === 0) throw new ImportFailure(1005, 'The file is empty')
  const unpacking = { uploadBytes: size, limits, sum: { entries: 0, bytes: 0 } }
  const head = await readHead(path)
  if (isGzip(head) && /\.gz$/i.test(name)) {
    const inner = join(folder, 'unzipped')
    await gunzip(path, inner, limits)
    return openPlain(inner, name.replace(/\.gz$/i, ''), folder, unpacking)
  }
  if (isZip(head) && /\.zip$/i.test(name)) return openZip(path, name, folder, unpacking)
  return openPlain(path, name, folder, unpacking)
}

async function openPlain(
  path: string,
  name: string,
  folder: string,
  unpacking: Unpacking,
): Promise<UploadFiles> {
  const { size: bytes } = await stat(path)
  const head = await readHead(path)
  if (bytes === 0) throw new ImportFailure(1005, 'The file is empty')
  const kind = kindByName(name)
  if (kind === 'shp' || kind === 'tab' || kind === 'mif')
    throw new ImportFailure(1006, `${shownName(name)} needs its other files: send them in one .zip file`)
  if (kind === undefined || !looksLike(kind, head)) throw unsupported(name, head)
  if (isArchive(kind)) await checkArchive(path, unpacking)
  const own = join(folder, 'in1')
  await mkdir(own, { mode: 0o700 })
  const file = `input.${kind}`
  await link(path, join(own, file))
  return { inputs: [{ kind, folder: own, file, bytes, name, isInArchive: false }], skipped: [] }
}

function unsupported(name: string, head: Buffer): ImportFailure {
  const found = otherKind(head, name)
  const is = found === undefined ? 'is not a file that can be imported' : `is ${found}`
  return new ImportFailure(1002, `${shownName(name)} ${is}. Supported: ${takenKinds}`)
}

function openZip(path: string, name: string, folder: string, unpacking: Unpacking): Promise<UploadFiles> {
  return withZip(path, unpacking, async (entries) => {
    const { groups, skipped, incomplete } = archiveGroups(entries)
    const inputs: InputFile[] = []
    const rejected: string[] = []
    for (const group of groups) {
      const own = join(folder, `in${inputs.length + 1}-${rejected.length}`)
      const input = await extractGroup(group, own, unpacking)
      if (input) inputs.push(input)
      else rejected.push(group.name)
    }
    if (inputs.length === 0 && incomplete) throw incomplete
    if (inputs.length === 0)
      throw new ImportFailure(
        1002,
        `${shownName(name)} has no file that can be imported. Supported: ${takenKinds}`,
      )
    if (incomplete) throw incomplete
    return { inputs, skipped: [...skipped, ...rejected].map(shownName) }
  })
}

/** The kinds of the files in an archive, by their names. None if it cannot be opened. */
export async function kindsInZip(path: string): Promise<readonly FileKind[]> {
  const { size: uploadBytes } = await stat(path)
  const limits = { maxBytes: 0, maxEntries, maxRatio: 0, signal: new AbortController().signal }
  const kinds = withZip(path, { uploadBytes, limits, sum: { entries: 0, bytes: 0 } }, async (entries) =>
    archiveGroups(entries).groups.map(({ kind }) => kind),
  )
  return kinds.catch(() => [])
}

/** Undefined: its content is not what its name says. */
async function extractGroup(
  { kind, name, main, parts, tellsEncoding }: ReturnType<typeof archiveGroups>['groups'][number],
  folder: string,
  unpacking: Unpacking,
): Promise<InputFile | undefined> {
  await mkdir(folder, { mode: 0o700 })
  let bytes = 0
  for (const [file, entry] of parts) {
    await entry.extract(join(folder, file))
    bytes += entry.bytes
  }
  if (kind !== 'gdb') {
    const head = await readHead(join(folder, main))
    if (head.length === 0) throw new ImportFailure(1005, `${shownName(name)} is empty`)
    if (!looksLike(kind, head)) return undefined
    if (isArchive(kind)) await checkArchive(join(folder, main), unpacking)
  }
  return { kind, folder, file: main, bytes, name, isInArchive: true, tellsEncoding }
}

async function gunzip(from: string, to: string, { maxBytes, maxRatio, signal }: UnpackLimits): Promise<void> {
  const { size } = await stat(from)
  const most = Math.min(
    maxBytes > 0 ? maxBytes : Number.POSITIVE_INFINITY,
    maxRatio > 0 ? Math.max(maxRatio * size, 1024 * 1024) : Number.POSITIVE_INFINITY,
  )
  let bytes = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done(bytes > most ? tooBig(most) : null, chunk)
    },
  })
  try {
    await pipeline(createReadStream(from), createGunzip(), count, createWriteStream(to, { mode: 0o600 }), {
      signal,
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ImportFailure || (error as NodeJS.ErrnoException).syscall) throw error
    throw new ImportFailure(1003, `The archive cannot be opened: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

export async function readHead(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

const headBytes = 64 * 1024
