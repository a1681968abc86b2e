import { once } from 'node:events'
import { createWriteStream, type Stats } from 'node:fs'
import { chmod, chown, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { withFileName } from '../file-error.ts'
import { draftName } from '../named-file.ts'
import { visibleTexts } from '../printable.ts'

/** Writes a draft and renames it when it is complete. A pipe or a device is written directly. */
export async function writeWhole<T>(file: string, write: (target: Writable) => Promise<T>): Promise<T> {
  const known = await stat(file).catch(() => undefined)
  const isSpecial = known !== undefined && !known.isFile()
  const target = await realpath(file).catch(() => file)
  const part = isSpecial ? file : draftName(target)
  // Exclusive: never write through a link that someone else put there.
  const stream = createWriteStream(part, isSpecial ? {} : { flags: 'wx', ...(known && { mode: 0o600 }) })
  await once(stream, 'open').catch((error) => {
    throw withFileName(error, file)
  })
  // The next write or `finished` reports the error. Without a listener in between it would end the process.
  stream.on('error', () => undefined)
  try {
    const result = await write(stream)
    stream.end()
    await finished(stream)
    if (!isSpecial) {
      if (known) await giveRights(part, known)
      await rename(part, target)
    }
    return result
  } catch (error) {
    stream.destroy()
    if (!isSpecial) await rm(part, { force: true })
    throw withFileName(error, file)
  }
}

/** Copies owner, group and mode of the replaced file, so that nobody new can read it. */
async function giveRights(file: string, { mode, uid, gid }: Stats): Promise<void> {
  const made = await stat(file)
  const isSameGroup =
    made.gid === gid ||
    (await chown(file, made.uid, gid).then(
      () => true,
      () => false,
    ))
  if (made.uid !== uid) await chown(file, uid, isSameGroup ? gid : made.gid).catch(() => undefined)
  await chmod(file, mode & (isSameGroup ? 0o777 : 0o707))
}

/** Writes to stdout, or to a file that appears when it is complete. */
export function writeTo<T>(file: string | undefined, write: (target: Writable) => Promise<T>): Promise<T> {
  return file === undefined || file === '-' ? write(process.stdout) : writeWhole(file, write)
}

/** Writes data with backpressure and leaves the target open. On a terminal control characters are escaped. */
export function passOn(chunks: AsyncIterable<Uint8Array | string>, target: Writable): Promise<void> {
  const isOnTerminal = target === process.stdout && process.stdout.isTTY
  return writeAll(isOnTerminal ? visibleTexts(chunks) : chunks, target)
}

/** passOn without escaping, for text that is escaped already and may have colours. */
export async function writeAll(
  chunks: AsyncIterable<Uint8Array | string> | Iterable<string>,
  target: Writable,
): Promise<void> {
  for await (const chunk of chunks) {
    if (target.errored) throw target.errored
    if (!target.write(chunk)) await once(target, 'drain')
  }
}
