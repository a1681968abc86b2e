import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { UploadDocument } from '../../../src/http/uploads/document.ts'
import { basic, type Setup, type TestUser } from '../service/setup.ts'

export type Metadata = Readonly<Record<string, string>>

export const encoded = (metadata: Metadata) =>
  Object.entries(metadata)
    .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
    .join(',')

export const csvUpload = { filename: 'one.csv' } as const

/** The uploads of a user, as a tus 1.0 client sees them. */
export function uploadApi(
  user: Pick<TestUser, 'username' | 'masterToken' | 'base'>,
  token = user.masterToken,
) {
  const common = { ...basic(user.username, token), 'tus-resumable': '1.0.0' }
  const url = `${user.base}/api/v4/uploads`
  const create = (length: number | string, metadata: Metadata = csvUpload, headers: Metadata = {}) =>
    fetch(url, {
      method: 'POST',
      headers: {
        ...common,
        'upload-length': String(length),
        'upload-metadata': encoded(metadata),
        ...headers,
      },
    })
  const make = async (length: number, metadata?: Metadata): Promise<string> => {
    const answer = await create(length, metadata)
    assert.equal(answer.status, 201, await answer.text())
    return new URL(answer.headers.get('location')!, url).href
  }
  const patch = (at: string, offset: number | string, body: string | Uint8Array, headers: Metadata = {}) =>
    fetch(at, {
      method: 'PATCH',
      headers: {
        ...common,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': String(offset),
        ...headers,
      },
      body: new Uint8Array(Buffer.from(body)),
    })
  const head = (at: string) => fetch(at, { method: 'HEAD', headers: common })
  const offsetOf = async (at: string) => Number((await head(at)).headers.get('upload-offset'))
  const show = async (at: string) =>
    (await (await fetch(at, { headers: basic(user.username, token) })).json()) as UploadDocument
  const remove = (at: string) => fetch(at, { method: 'DELETE', headers: common })
  const cutPatch: CutPatch = (...args) => sendCut(common, ...args)
  return { url, create, make, patch, head, show, offsetOf, remove, cutPatch }
}

export const codeOf = async (answer: Response) => [
  answer.status,
  ((await answer.json()) as { code: string }).code,
]

/** The bytes counted so far. Unlike a HEAD, this does not end the request that is writing. */
export async function receivedOf({ services }: Setup['service'], at: string): Promise<number> {
  const { rows } = await services.databases.control.query<{ received: string }>(
    'select received from cartage.uploads where id = $1',
    [at.split('/').at(-1)],
  )
  return Number(rows[0]!.received)
}

type CutPatch = (
  at: string,
  offset: number,
  sent: string | Uint8Array,
  announced: number,
  options?: Readonly<{ stay?: boolean; checksum?: string }>,
) => Promise<Socket>

/** Announces more bytes than it sends. `stay`: leaves the connection open and returns it. */
async function sendCut(
  common: Metadata,
  at: string,
  offset: number,
  sent: string | Uint8Array,
  announced: number,
  { stay = false, checksum = '' } = {},
): Promise<Socket> {
  const { hostname, port, pathname } = new URL(at)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  const lines = Object.entries({
    host: hostname,
    ...common,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    'content-length': String(announced),
    ...(checksum && { 'upload-checksum': checksum }),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`PATCH ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`)
  socket.write(sent)
  if (!stay) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    socket.destroy()
  }
  return socket
}
