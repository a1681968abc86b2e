import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { withFile } from '../file-trouble.ts'
import { freshName } from '../fresh-name.ts'
import { visibleTexts } from '../printable.ts'

/** Under its own name a file is whole: until then it has another. A pipe or a device is written to as it is. */
export async function writeWhole<T>(file: string, write: (target: Writable) => Promise<T>): Promise<T> {
  const known = await stat(file).catch(() => undefined)
  const isSpecial = known !== undefined && !known.isFile()
  const target = await realpath(file).catch(() => file)
  const part = isSpecial ? file : freshName(target)
  // Exclusively: whatever has that name, a link among others, is not ours to write to.
  const stream = createWriteStream(part, { flags: isSpecial ? 'w' : 'wx' })
  await once(stream, 'open').catch((error) => {
    throw withFile(error, file)
  })
  // Told to whoever writes next, or by `finished`: between two writes nobody listens.
  stream.on('error', () => undefined)
  try {
    const result = await write(stream)
    stream.end()
    await finished(stream)
    if (!isSpecial) await rename(part, target)
    return result
  } catch (error) {
    stream.destroy()
    if (!isSpecial) await rm(part, { force: true })
    throw withFile(error, file)
  }
}

/** Standard output, or a file that appears when it is whole. */
export function writeTo<T>(file: string | undefined, write: (target: Writable) => Promise<T>): Promise<T> {
  return file === undefined || file === '-' ? write(process.stdout) : writeWhole(file, write)
}

/** Passes data on, as fast as it is taken; the target stays open. A terminal is not steered by it. */
export function passOn(chunks: AsyncIterable<Uint8Array | string>, target: Writable): Promise<void> {
  const isOnTerminal = target === process.stdout && process.stdout.isTTY
  return writeAll(isOnTerminal ? visibleTexts(chunks) : chunks, target)
}

/** The same with what is known to be harmless, and may have colours. */
export async function writeAll(chunks: AsyncIterable<Uint8Array | string>, target: Writable): Promise<void> {
  for await (const chunk of chunks) {
    if (target.errored) throw target.errored
    if (!target.write(chunk)) await once(target, 'drain')
  }
}
