import type { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import zlib from 'node:zlib'
import Negotiator from 'negotiator'
import type { ContentEncoding } from '../../contract/formats.ts'
import { encodings } from '../../copy/decoder.ts'
import { errors } from '../../errors.ts'

/** The compression of an uploaded body, by a header or a parameter; null if there is none. */
export function readContentEncoding(
  header: string | undefined,
  name = 'Content-Encoding',
): ContentEncoding | null {
  const codings = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim().replace(/^x-gzip$/, 'gzip'))
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return null
  const known = encodings.find((encoding) => encoding === codings[0])
  if (known && codings.length === 1) return known
  throw errors.unsupportedMedia(
    `${name} ${JSON.stringify(header)} is not supported: use one of ${encodings.join(', ')}`,
  )
}

export type OutputEncoding = 'zstd' | 'gzip' | 'br'

/** The compression for an answer, by the client's weights; among equals the first, which is the fastest. */
export function chooseEncoding<Encoding extends OutputEncoding = OutputEncoding>(
  acceptEncoding: string | undefined,
  among: readonly Encoding[] = outputEncodings as readonly Encoding[],
): Encoding | null {
  // Most programs ask for none.
  if (acceptEncoding === undefined) return null
  const header = acceptEncoding.toLowerCase().replaceAll('x-gzip', 'gzip')
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  const [best] = negotiator.encodings([...among, 'identity'], { preferred: [...among] })
  return among.find((encoding) => encoding === best) ?? null
}

/** A shorter answer is one packet, compressed or not. */
export const smallBytes = 1024

/** Compresses a short text at once. */
export function encodeWhole(bytes: Buffer, encoding: OutputEncoding): Promise<Buffer> {
  return buffer(createEncoder(encoding).end(bytes))
}

/** A stream of zlib: `flush` sends on what it holds back, and `bytesWritten` counts what it has taken. */
export type Encoder = Transform & Readonly<{ flush: () => void; bytesWritten: number }>

export function createEncoder(encoding: OutputEncoding): Encoder {
  switch (encoding) {
    case 'gzip':
      return zlib.createGzip({ ...sizes, level: 1, windowBits: gzipWindowBits })
    case 'br':
      return zlib.createBrotliCompress({ ...sizes, params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })
    case 'zstd':
      return newerZlib.createZstdCompress!(sizes)
  }
}

/** Rows resemble the rows just before them. A 4 KB window finds these sooner than a 32 KB one, and needs fewer bits. */
const gzipWindowBits = 12

const sizes = { chunkSize: 256 * 1024, highWaterMark: 256 * 1024 }

const newerZlib = zlib as typeof zlib & { createZstdCompress?: (settings: typeof sizes) => Encoder }

const outputEncodings: readonly OutputEncoding[] = [
  // Since Node 22.15 and 23.8.
  ...('createZstdCompress' in zlib ? (['zstd'] as const) : []),
  'gzip',
  'br',
]
