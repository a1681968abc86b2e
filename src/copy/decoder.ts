import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { type ContentEncoding, contentEncodings } from '../contract/formats.ts'
import { type AppError, errors } from '../errors.ts'

/** Decompresses. Clients send two formats as `deflate`: the first bytes show which. */
export function createDecoder(encoding: ContentEncoding, firstBytes: Buffer): Decoder {
  switch (encoding) {
    case 'gzip':
      return zlib.createGunzip(options)
    case 'deflate':
      return hasZlibHeader(firstBytes) ? zlib.createInflate(options) : zlib.createInflateRaw(options)
    case 'br':
      return zlib.createBrotliDecompress(options)
    case 'zstd':
      return newerZlib.createZstdDecompress!(options)
  }
}

/** `bytesWritten` counts the consumed input, not the given one. */
export type Decoder = Transform & { readonly bytesWritten: number }

/** Encodings that this Node can decompress: zstd since 22.15 and 23.8. */
export const encodings: readonly ContentEncoding[] = contentEncodings.filter(
  (encoding) => encoding !== 'zstd' || 'createZstdDecompress' in zlib,
)

export function decodingError(encoding: ContentEncoding, cause: Error): AppError {
  return errors.badCompression(encoding === 'gzip' ? 'gunzipping' : `decompressing ${encoding}`, cause)
}

/** Detects a compressed file that was sent as plain data. */
export function compressionOf(firstBytes: Buffer): string | undefined {
  return magicNumbers.find(({ magic }) => firstBytes.subarray(0, magic.length).equals(magic))?.name
}

const magicNumbers = [
  { name: 'gzip', magic: Buffer.from([0x1f, 0x8b]) },
  { name: 'zstd', magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]) },
  { name: 'bzip2', magic: Buffer.from('BZh') },
  { name: 'xz', magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]) },
  { name: 'zip', magic: Buffer.from([0x50, 0x4b, 3, 4]) },
]

function hasZlibHeader([method = 0, flags]: Buffer): boolean {
  return (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0)
}

/** With the default of 16 KB the round trip to the thread pool costs more than the decompression. */
const options = { chunkSize: 256 * 1024, highWaterMark: 256 * 1024 }

const newerZlib = zlib as typeof zlib & { createZstdDecompress?: (settings: typeof options) => Decoder }
