import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { type Checksum, checksumAlgorithms } from '../../imports/resumable/upload-part.ts'
import { requireNoNul } from '../middleware/body/refuse-nul.ts'
import { choiceOf, filenameOf, isUuid, type Parameters, withoutEmpty } from '../middleware/parameters.ts'

export const tusVersion = '1.0.0'

export const uploadKinds = ['import', 'copyfrom'] as const

/** What an upload becomes, as its Upload-Metadata says. */
export type UploadWish = Readonly<{
  kind: (typeof uploadKinds)[number]
  filename: string
  /** The parameters of an import or a copyfrom, under their own names. */
  parameters: Parameters
}>

/** Only the OPTIONS request has no version. */
export function requireVersion({ headers }: FastifyRequest): void {
  if (headers['tus-resumable'] !== tusVersion) throw errors.uploadVersion()
}

export function readLength({ headers }: FastifyRequest): number {
  if (headers['upload-defer-length'] !== undefined)
    throw errors.badRequest('Upload-Defer-Length is not supported: send Upload-Length')
  const length = wholeHeader(headers['upload-length'], 'Upload-Length')
  if (length === 0) throw errors.badRequest('Upload-Length is 0: the file is empty')
  return length
}

function wholeHeader(value: string | string[] | undefined, name: string): number {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
  if (number === undefined) throw errors.badRequest(`${name} must be a whole number of bytes`)
  return number
}

export function metadataOf({ headers }: FastifyRequest): string {
  const text = headers['upload-metadata']
  return typeof text === 'string' ? text : ''
}

/** Pairs of a name and a value in Base64, separated by commas. */
export function readWish(metadata: string): UploadWish {
  const given: Record<string, string> = {}
  for (const pair of metadata.split(',').filter((text) => text.trim() !== '')) {
    const [name = '', value = '', ...rest] = pair.trim().split(' ')
    if (rest.length > 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
      throw errors.badRequest('Upload-Metadata must be names with values in Base64, separated by commas')
    if (Object.hasOwn(given, name)) throw errors.badRequest(`Upload-Metadata has ${name} more than once`)
    const bytes = Buffer.from(value, 'base64')
    if (!isUtf8(bytes)) throw errors.badRequest(`Upload-Metadata: ${name} is not UTF-8`)
    Object.defineProperty(given, name, { value: bytes.toString(), enumerable: true })
  }
  const { kind: _kind, filename: _filename, ...parameters } = withoutEmpty(requireNoNul(given))
  const kind = choiceOf(given, 'kind', uploadKinds) ?? 'import'
  const filename = filenameOf(given) ?? ''
  if (kind === 'import' && filename === '')
    throw errors.badRequest('Upload-Metadata must have filename, which shows the kind of the file')
  return { kind, filename, parameters }
}

export function readUploadId({ params }: FastifyRequest): string {
  const { uploadId } = params as { uploadId: string }
  if (!isUuid(uploadId)) throw errors.uploadNotFound()
  return uploadId.toLowerCase()
}

/** One request with bytes. */
export type SentPart = Readonly<{
  offset: number
  /** Undefined: it comes in chunks. */
  bytes: number | undefined
  checksum: Checksum | undefined
}>

export function readPart({ headers }: FastifyRequest): SentPart {
  if (headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() !== partType)
    throw errors.unsupportedMedia(`The Content-Type must be ${partType}`)
  if (headers['content-encoding'] !== undefined)
    throw errors.unsupportedMedia('Content-Encoding is not supported here')
  const length = headers['content-length']
  return {
    offset: wholeHeader(headers['upload-offset'], 'Upload-Offset'),
    bytes: length === undefined ? undefined : Number(length),
    checksum: readChecksum(headers['upload-checksum']),
  }
}

export const partType = 'application/offset+octet-stream'

function readChecksum(header: string | string[] | undefined): Checksum | undefined {
  if (header === undefined) return undefined
  const [, name, digest] = (typeof header === 'string' && /^(\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(header)) || []
  const algorithm = checksumAlgorithms.find((each) => each === name)
  if (algorithm === undefined || digest === undefined)
    throw errors.badRequest(
      `Upload-Checksum must be one of ${checksumAlgorithms.join(', ')}, a space and the checksum in Base64`,
    )
  return { algorithm, digest: Buffer.from(digest, 'base64') }
}
