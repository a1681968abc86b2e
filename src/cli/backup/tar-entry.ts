import type { Readable } from 'node:stream'

const block = 512

/** A small file as an entry of a tar (ustar). Another tar may follow it: both together are one tar. */
export function tarEntry(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(block)
  header.write(name, 0, 100)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write(
    `${Math.floor(Date.now() / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  )
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc(padding(content.length))])
}

/** Reads one entry from the beginning of a stream; undefined if there is none. The rest of the stream stays unread. */
export async function readTarEntry(
  stream: Readable,
  largestBytes: number,
): Promise<{ name: string; content: Buffer } | undefined> {
  const header = await take(stream, block)
  if (header?.toString('latin1', 257, 262) !== 'ustar') return undefined
  const size = Number.parseInt(header.toString('latin1', 124, 135), 8)
  if (!(size <= largestBytes)) return undefined
  const content = await take(stream, size + padding(size))
  const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
  return content && { name, content: content.subarray(0, size) }
}

const padding = (size: number) => (block - (size % block)) % block

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
