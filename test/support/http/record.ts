import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type Exchange, Names, readAnswer } from './recording.ts'

// Records what a client sends: node --import tsx test/clients/record.ts CLIENT BASE_URL TOKEN COMMAND... CLIENT names
// the recording, BASE_URL and TOKEN are those of an empty account of a running service, and COMMAND runs the client; it
// gets the base URL of the recorder and the token.
const [client, baseUrl, token, program, ...args] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  ...string[],
]
const target = new URL(baseUrl)
const username = target.pathname.split('/')[2]!
const exchanges: Exchange[] = []

const recorder = createServer((request, response) => {
  record(request, response).catch((error: unknown) => response.destroy(error as Error))
}).listen(0, '127.0.0.1')
await once(recorder, 'listening')
const host = `127.0.0.1:${(recorder.address() as AddressInfo).port}`
const basic = Buffer.from(`${username}:${token}`).toString('base64')
const names = new Names({ host, user: username, token, basic })

const driver = spawn(program, [...args, `http://${host}${target.pathname}`, token], { stdio: 'inherit' })
const [code] = await once(driver, 'exit')
recorder.close()
recorder.closeAllConnections()
if (code !== 0) throw new Error(`${program} ended with ${code}`)
await writeFile(
  `test/clients/recordings/${client}.json`,
  `[\n${exchanges.map((each) => JSON.stringify(each)).join(',\n')}\n]\n`,
)

async function record(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bytes = await buffer(request)
  const { method = '', url = '', rawHeaders } = request
  const onwards = forward({
    host: target.hostname,
    port: target.port,
    method,
    path: url,
    headers: request.headers,
  })
  onwards.end(bytes)
  const [answered] = (await once(onwards, 'response')) as [IncomingMessage]
  const chunks = await buffer(answered)
  response.writeHead(answered.statusCode!, answered.rawHeaders).end(chunks)

  const path = names.hide(url)
  const text = bytes.toString()
  const isText = Buffer.from(text).equals(bytes)
  const body =
    bytes.length === 0 ? {} : isText ? { body: names.hide(text) } : { base64: bytes.toString('base64') }
  const headers = pairs(rawHeaders).map(([name, value]) => [name, names.hide(value)] as const)
  const parts = Object.assign([chunks], { headers: answered.headers, statusCode: answered.statusCode })
  const answer = await readAnswer(parts as unknown as IncomingMessage, names)
  // A client that waits for a job polls it: the last answer counts.
  const last = exchanges.at(-1)
  if (method === 'GET' && last?.method === 'GET' && last.path === path) exchanges.pop()
  exchanges.push({ method, path, headers, ...body, answer })
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, place) => (place % 2 === 0 ? [[name, raw[place + 1]!]] : []))
}
