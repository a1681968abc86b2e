import type { Readable } from 'node:stream'

export const block = 512

/** Reads one entry from the beginning of a stream; undefined if there is none. The rest of the stream stays unread. */
export async function readTarEntry(
  stream: Readable,
  largestBytes: number,
): Promise<{ name: string; content: Buffer } | undefined> {
  const header = await take(stream, block)
  if (header?.toString('latin1', 257, 262) !== 'ustar') return undefined
  const digits = /^[0-7]+(?=[ \0]*$)/.exec(header.toString('latin1', 124, 136))
  const size = Number.parseInt(digits?.[0] ?? '', 8)
  if (!(size <= largestBytes)) return undefined
  const content = await take(stream, size + padding(size))
  const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
  return content && { name, content: content.subarray(0, size) }
}

/** Zeros between the content of an entry and the next entry. */
export const padding = (size: number) => (block - (size % block)) % block

/** Reads so many bytes; undefined if the stream ends before. */
function take(stream: Readable, bytes: number): Promise<Buffer | undefined> {
  if (bytes === 0) return Promise.resolve(Buffer.alloc(0))
  return new Promise((resolve, reject) => {
    const stop = () => stream.off('readable', look).off('end', tooFew).off('close', tooFew).off('error', fail)
    const tooFew = () => {
      stop()
      resolve(undefined)
    }
    const fail = (error: Error) => {
      stop()
      reject(error)
    }
    const look = () => {
      // It returns fewer bytes only at the end of the stream.
      const chunk: Buffer | null = stream.read(bytes)
      if (!chunk) return
      stop()
      resolve(chunk.length === bytes ? chunk : undefined)
    }
    // The listener stays until the end: one added anew for each read can miss the end of the stream.
    stream.on('readable', look).on('end', tooFew).on('close', tooFew).on('error', fail)
    if (stream.readableEnded || stream.destroyed) tooFew()
    else look()
  })
}
