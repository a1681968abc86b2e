import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import type { ContentEncoding } from '../../contract/formats.ts'
import { encodings } from '../../copy/decoder.ts'
import { errors } from '../../errors.ts'

/** How an uploaded body is compressed, by a header or a parameter; null if it is not. */
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

/** What to compress an answer with, by the client's weights; of equals the first, which is the fastest. */
export function chooseEncoding<Encoding extends OutputEncoding = OutputEncoding>(
  acceptEncoding: string | undefined,
  among: readonly Encoding[] = outputEncodings as readonly Encoding[],
): Encoding | null {
  const weights = readWeights(acceptEncoding ?? '')
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0
  const [best] = among.toSorted((one, other) => weightOf(other) - weightOf(one))
  return best && weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : null
}

export function createEncoder(encoding: OutputEncoding): Transform {
  switch (encoding) {
    case 'gzip':
      return zlib.createGzip({ ...sizes, level: 1, windowBits: gzipWindowBits })
    case 'br':
      return zlib.createBrotliCompress({ ...sizes, params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })
    case 'zstd':
      return newerZlib.createZstdCompress!(sizes)
  }
}

/** Rows are like those just before them. In 4 KB the last of these is found sooner than in 32 KB, and costs fewer bits. */
const gzipWindowBits = 12

const sizes = { chunkSize: 256 * 1024, highWaterMark: 256 * 1024 }

const newerZlib = zlib as typeof zlib & { createZstdCompress?: (settings: typeof sizes) => Transform }

const outputEncodings: readonly OutputEncoding[] = [
  // Since Node 22.15 and 23.8.
  ...('createZstdCompress' in zlib ? (['zstd'] as const) : []),
  'gzip',
  'br',
]

function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    if (coding) weights.set(coding.replace(/^x-gzip$/, 'gzip'), readWeight(weight))
  }
  return weights
}

/** A weight that cannot be read counts as a refusal: plain data is never wrong. */
function readWeight(text: string | undefined): number {
  if (text === undefined) return 1
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
