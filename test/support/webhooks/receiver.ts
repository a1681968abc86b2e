import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { DeliveryDocument } from '../../../src/contract/webhooks.ts'
import { eventually, randomName, type setup, type TestUser } from '../service/setup.ts'

export type Received = Readonly<{
  method: string
  headers: IncomingHttpHeaders
  text: string
  body: { type: string; timestamp: string; data: Record<string, unknown> }
}>

/** How the address answers: returns the status, after anything done first. */
export type Answer = () => number | Promise<number>

/** A server for the messages of one file. Each test has its own address. */
export async function openReceiver() {
  const received = new Map<string, Received[]>()
  const answers = new Map<string, Answer>()
  const server = createServer((request, response) => {
    const path = request.url!
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', async () => {
      const text = Buffer.concat(pieces).toString()
      const { method = '', headers } = request
      received.set(path, [
        ...(received.get(path) ?? []),
        { method, headers, text, body: JSON.parse(text || '{}') },
      ])
      const status = (await answers.get(path)?.()) ?? 204
      response.writeHead(status, headersOf(status)).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const address = (answer?: Answer) => {
    const path = `/${randomName('hook')}`
    if (answer) answers.set(path, answer)
    const got = () => received.get(path) ?? []
    const atLeast = (count: number) =>
      eventually(() => {
        assert.ok(got().length >= count, `${got().length} of ${count} messages`)
        return got()
      })
    return { url: `http://127.0.0.1:${port}${path}`, got, atLeast }
  }
  return { port, address, host: `127.0.0.1:${port}` }
}

function headersOf(status: number): Record<string, string> {
  if (status === 101) return { connection: 'upgrade', upgrade: 'other' }
  return status >= 300 && status < 400 ? { location: '/elsewhere' } : {}
}

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Throws unless the library accepts the signature. */
export const verified = ({ text, headers }: Received, key = secret) =>
  new Webhook(key).verify(text, headers as Record<string, string>)

export async function ask(
  user: TestUser,
  method: string,
  path: string,
  body?: unknown,
  token = user.masterToken,
) {
  const response = await fetch(
    `${user.base}/api/v4/${path}${path.includes('?') ? '&' : '?'}api_key=${token}`,
    {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    },
  )
  const text = await response.text()
  return { status: response.status, body: (text ? JSON.parse(text) : {}) as Record<string, any> }
}

/** Runs a job to its end. */
export async function ranJob(user: TestUser, query: unknown, beside: object = {}): Promise<string> {
  const made = await ask(user, 'POST', 'jobs', { query, ...beside })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { job_id: id } = made.body
  await eventually(async () => {
    const { body } = await ask(user, 'GET', `jobs/${id}?wait=5`)
    assert.ok(!['pending', 'running'].includes(body.status), body.status)
  })
  return id
}

export async function idsOf(deliveries: AsyncIterable<DeliveryDocument>): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id } of deliveries) ids.push(id)
  return ids
}

export type House = Awaited<ReturnType<typeof setup>>

/** Makes the next attempt of all a user's messages due now, or ends their time. */
export function hurry({ service, user }: House, column: 'due_at' | 'gives_up_at' = 'due_at') {
  return service.services.databases.control.query(
    `update cartage.webhook_deliveries set ${column} = clock_timestamp() where user_id = $1 and status = 'pending'`,
    [user.account.userId],
  )
}
