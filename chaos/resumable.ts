import { request } from 'node:http'
import type { Answer, AskOptions } from './clients.ts'
import type { Random } from './random.ts'

/** What an upload in several requests needs from its sender. `path` is that of the upload, or empty. */
export type Line = Readonly<{
  random: Random
  /** One request. Undefined: no answer came. */
  ask: (path: string, options: AskOptions) => Promise<Answer | undefined>
  insist: (path: string, options: AskOptions) => Promise<Answer>
  /** The URL of a request that `cut` sends. */
  urlOf: (path: string) => string
  pause: () => Promise<void>
}>

export type ResumableFile = Readonly<{ metadata: Readonly<Record<string, string>>; content: string }>

/**
 * `id`: of the upload. `problem`: what must never happen. `isUnknown`: the service cannot tell whether its rows are
 * stored.
 */
export type Uploaded = Readonly<
  { id: string; isUnknown?: boolean } | { id: string | undefined; problem: string }
>

/** Sends a file in pieces, cuts some of them itself, and continues where the service says. */
export async function uploadInPieces(line: Line, file: ResumableFile): Promise<Uploaded> {
  const content = Buffer.from(file.content)
  const created = await line.insist('', {
    method: 'POST',
    headers: {
      ...tus,
      'upload-length': String(content.length),
      'upload-metadata': Object.entries(file.metadata)
        .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
        .join(','),
    },
  })
  const id = created.headers.get('location')?.split('/').at(-1)
  if (created.status !== 201 || !id) return { id, problem: `POST answered ${words(created)}` }
  const path = `/${id}`
  for (let acknowledged = 0; ; ) {
    const { status, headers } = await line.insist(path, { method: 'HEAD', headers: tus })
    const offset = Number(headers.get('upload-offset'))
    const state = headers.get('upload-state')
    if (status !== 200) return { id, problem: `HEAD answered ${status}` }
    if (offset < acknowledged) return { id, problem: `${acknowledged} bytes were there, and now ${offset}` }
    if (state === 'done') return { id }
    if (state === 'unknown') return { id, isUnknown: true }
    if (state === 'loading') await line.pause()
    else {
      const outcome = await sendPiece(line, path, content, offset)
      if (typeof outcome === 'string') return { id, problem: outcome }
      acknowledged = Math.max(offset, outcome)
    }
  }
}

/** Returns the offset that the service has confirmed, or what must never happen. */
async function sendPiece(
  line: Line,
  path: string,
  content: Buffer,
  offset: number,
): Promise<number | string> {
  const end = line.random.isLucky(0.4)
    ? content.length
    : Math.min(content.length, offset + 1 + Math.floor(line.random.next() * content.length))
  const piece = content.subarray(offset, end)
  const headers = {
    ...tus,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
  }
  if (line.random.isLucky(0.3)) {
    await cut(line, path, headers, piece)
    return offset
  }
  const answer = await line.ask(path, { method: 'PATCH', headers, body: new Uint8Array(piece) })
  if (answer?.status === 204 || answer?.status === 200) return end === content.length ? offset : end
  // 409: an earlier request arrived after all. 423: it still runs. 429: all slots of imports are taken.
  const isForgiven = !answer || answer.status >= 500 || [408, 409, 423, 429].includes(answer.status)
  if (!isForgiven) return `PATCH at ${offset} answered ${words(answer)}`
  await line.pause()
  return offset
}

/** Announces the whole piece and breaks off in the middle. */
async function cut(
  { urlOf, random }: Line,
  path: string,
  headers: Readonly<Record<string, string>>,
  piece: Buffer,
): Promise<void> {
  const sending = request(urlOf(path), {
    method: 'PATCH',
    headers: { ...headers, 'content-length': piece.length },
  })
  sending.on('error', () => undefined)
  const closed = new Promise((resolve) => sending.once('close', resolve))
  sending.write(piece.subarray(0, Math.floor(random.next() * piece.length)), () => {
    setTimeout(() => sending.destroy(), random.between(0, 300))
  })
  setTimeout(() => sending.destroy(), 5_000).unref()
  await closed
}

const tus = { 'tus-resumable': '1.0.0' } as const
const words = ({ status, body }: Answer) => `${status} ${JSON.stringify(body)}`
