import { createWriteStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** Packs the files of a folder, without folders in it, into a zip file. Coordinates do not get smaller by a higher level. */
export async function zipFiles(folder: string, path: string, signal: AbortSignal): Promise<void> {
  const zip = new ZipFile()
  for (const name of (await readdir(folder)).sort())
    zip.addFile(join(folder, name), name, { compressionLevel: 1 })
  const failed = new Promise<never>((_, reject) => zip.on('error', reject))
  zip.end()
  await Promise.race([pipeline(zip.outputStream, createWriteStream(path), { signal }), failed])
}
