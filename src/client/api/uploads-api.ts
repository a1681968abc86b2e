import type { CopyAnswer } from '../../contract/documents.ts'
import type { ContentEncoding } from '../../contract/formats.ts'
import type { OperationId } from '../../contract/operations.ts'
import { CartageError } from '../cartage-error.ts'
import { isPassing, pause, waitBeforeReconnect } from '../http/retry.ts'
import { type Call, type Connection, readText, send } from '../http/send.ts'
import type { Body, HttpResponse, Progress } from '../http/transport.ts'
import { type CopySql, type LoadParameters, loadQuery, sqlOf } from './copy-upload.ts'

/** A file of which any part can be sent: a Blob or File, or one that is read where it is. */
export type PartialFile = Readonly<{ size: number; slice: (start: number, end: number) => Body }>

export type Resuming = Readonly<{
  signal?: AbortSignal | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** The connection was lost: so much of the file is with the service, and the upload goes on from there. */
  onCut?: ((progress: Required<Progress>) => void) | undefined
  /** How long to try without any progress. By default five minutes. */
  giveUpAfterMs?: number | undefined
  /** Bytes of one request. */
  pieceBytes?: number | undefined
}>

/** `filename`, `kind`, and the parameters of an import or a copyfrom under their own names. */
export type UploadMetadata = Readonly<Record<string, string | number | boolean | undefined>>

/** What an upload has become: the id of its import, or the answer of its copyfrom. */
export type Finished = Readonly<{ importId?: string; answer?: CopyAnswer }>

export type LargeFrom = Readonly<{
  /** Larger files are sent by a resumable upload. By default 64 MB. */
  resumableFromBytes?: number
}>

export const defaultResumableFromBytes = 64 * 1024 * 1024

const isPartialFile = (file: Body | PartialFile): file is PartialFile =>
  typeof file === 'object' && 'size' in file && 'slice' in file

export const isLarge = (
  file: Body | PartialFile,
  { resumableFromBytes = defaultResumableFromBytes }: LargeFrom,
): file is PartialFile => isPartialFile(file) && file.size > resumableFromBytes

/** For one request. */
export const wholeFile = (file: Body | PartialFile): Body =>
  isPartialFile(file) && !(file instanceof Blob) ? file.slice(0, file.size) : (file as Body)

/** Metadata stand in a header, of which servers take some 16 KB. */
export const isShort = (sql: CopySql) => new TextEncoder().encode(sqlOf(sql)).length < 9_000

/** Loads rows with COPY by a resumable upload. */
export async function copyResumably(
  connection: Connection,
  name: string,
  sql: CopySql,
  file: PartialFile,
  options: Resuming & LoadParameters & Readonly<{ contentEncoding?: ContentEncoding }>,
): Promise<CopyAnswer> {
  const encoding = options.contentEncoding && { data_encoding: options.contentEncoding }
  const metadata = { kind: 'copyfrom', q: sqlOf(sql), ...encoding, ...loadQuery(options) }
  return (await uploadResumably(connection, name, file, metadata, options)).answer!
}

/**
 * Uploads a file in pieces. After a cut it goes on where it was. Stopped by the signal, nothing of it stays.
 */
export async function uploadResumably(
  connection: Connection,
  name: string,
  file: PartialFile,
  metadata: UploadMetadata,
  options: Resuming = {},
): Promise<Finished> {
  const { header } = await sendWhole(connection, 'createUpload', {
    parameters: { name },
    headers: { ...version, 'upload-length': String(file.size), 'upload-metadata': encoded(metadata) },
    // The service removes an upload that is not continued.
    isRepeatable: true,
    signal: options.signal,
  })
  const uploadId = header('location')!.split('/').at(-1)!
  const upload = new Sending(connection, { name, uploadId }, file, options)
  try {
    return await upload.run()
  } catch (error) {
    // A refused file would count against the limits of the user for a day.
    if (options.signal?.aborted || isRefused(error)) await upload.remove()
    throw error
  }
}

/** With the whole answer read, so that its connection is free again. */
async function sendWhole(
  connection: Connection,
  operation: OperationId,
  call: Call,
): Promise<Readonly<{ header: HttpResponse['header']; text: string }>> {
  const { header, body } = await send(connection, operation, call)
  return { header, text: await readText(body) }
}

const version = { 'tus-resumable': '1.0.0' } as const

function encoded(metadata: UploadMetadata): string {
  return Object.entries(metadata)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${base64(String(value))}`)
    .join(',')
}

const base64 = (text: string) => btoa(String.fromCodePoint(...new TextEncoder().encode(text)))

class Sending {
  readonly #connection: Connection
  readonly #parameters: Readonly<Record<string, string>>
  readonly #file: PartialFile
  readonly #options: Resuming
  #offset = 0
  #movedAt = performance.now()

  constructor(
    connection: Connection,
    parameters: Readonly<Record<string, string>>,
    file: PartialFile,
    options: Resuming,
  ) {
    this.#connection = connection
    this.#parameters = parameters
    this.#file = file
    this.#options = options
  }

  async run(): Promise<Finished> {
    for (let attempt = 1; ; attempt++) {
      const before = this.#offset
      try {
        const finished = await this.#sendPiece()
        if (finished) return finished
        attempt = 0
      } catch (error) {
        this.#options.signal?.throwIfAborted()
        if (!mayGoOn(error)) throw error
        await this.#askAfterCut(error, before === this.#offset ? attempt : 1)
      }
    }
  }

  async remove(): Promise<void> {
    const { signal: _signal, ...call } = this.#call()
    await sendWhole(this.#connection, 'deleteUpload', call).catch(() => undefined)
  }

  async #sendPiece(): Promise<Finished | undefined> {
    const { pieceBytes = defaultPieceBytes, onProgress } = this.#options
    const { size } = this.#file
    const start = this.#offset
    const end = Math.min(size, start + pieceBytes)
    const { header, text } = await sendWhole(this.#connection, 'appendToUpload', {
      ...this.#call({ 'content-type': 'application/offset+octet-stream', 'upload-offset': String(start) }),
      upload: this.#file.slice(start, end),
      onProgress: onProgress && (({ bytes }) => onProgress({ bytes: start + bytes, total: size })),
      isRepeatable: false,
    })
    this.#moveTo(end)
    if (end < size) return undefined
    const location = header('location')
    return location ? { importId: location.split('/').at(-1)! } : { answer: JSON.parse(text) as CopyAnswer }
  }

  /** Where the service has the file, as soon as it answers. */
  async #askAfterCut(cause: unknown, attempt: number): Promise<void> {
    const { signal, onCut, giveUpAfterMs = defaultGiveUpMs } = this.#options
    let error = cause
    for (let turn = attempt; ; turn++) {
      if (performance.now() - this.#movedAt > giveUpAfterMs) throw error
      await pause(waitBeforeReconnect(error, turn), signal)
      try {
        const { header } = await sendWhole(this.#connection, 'readUpload', this.#call())
        this.#moveTo(Number(header('upload-offset')))
        onCut?.({ bytes: this.#offset, total: this.#file.size })
        return
      } catch (again) {
        signal?.throwIfAborted()
        if (!mayGoOn(again)) throw again
        error = again
      }
    }
  }

  #moveTo(offset: number): void {
    if (offset > this.#offset) this.#movedAt = performance.now()
    this.#offset = offset
  }

  #call(headers: Readonly<Record<string, string>> = {}): Call {
    const { signal } = this.#options
    return { parameters: this.#parameters, headers: { ...version, ...headers }, signal, isRepeatable: true }
  }
}

/** Small enough for proxies, and for the memory of browsers that copy what they send. */
const defaultPieceBytes = 32 * 1024 * 1024
const defaultGiveUpMs = 300_000

/** No answer, a service that is busy, or another request that has not ended. */
const mayGoOn = (error: unknown) =>
  isPassing(error) ||
  (error instanceof CartageError && (error.code === 'upload-offset-wrong' || error.code === 'upload-locked'))

/** For good, and it is known that nothing was stored. */
const isRefused = (error: unknown) =>
  error instanceof CartageError && !mayGoOn(error) && !error.code?.endsWith('outcome-unknown')

export function uploadsOf(connection: Connection, name: string) {
  return {
    /** Sends a file that becomes an import (`filename`), or rows (`kind: 'copyfrom'`, `q`). After a cut it goes on where it was. */
    send: (file: PartialFile, metadata: UploadMetadata, options?: Resuming) =>
      uploadResumably(connection, name, file, metadata, options),
  }
}
