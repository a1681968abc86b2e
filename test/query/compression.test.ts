import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

const run = promisify(execFile)

const rows = (count: number) =>
  `select n, repeat('x', 50) as t, null::geometry as the_geom from generate_series(1, ${count}) n`

const decoders = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync } as const

test('answers are compressed as the client accepts, with the same content', async (t) => {
  const { user } = await setup(t)
  for (const count of [20, 300, 20_000]) {
    for (const format of ['json', 'geojson', 'csv', 'ndjson']) {
      const plain = await read(user, rows(count), { format })
      assert.equal(plain.headers['content-encoding'], undefined)
      assert.equal(plain.headers.vary, 'Accept-Encoding')
      for (const [encoding, decode] of Object.entries(decoders)) {
        const packed = await read(user, rows(count), { format }, encoding)
        assert.equal(packed.headers['content-encoding'], encoding, `${format} ${count}`)
        assert.ok(packed.bytes.length * (count < 100 ? 2 : 4) < plain.bytes.length)
        assert.equal(withoutTime(decode(packed.bytes)), withoutTime(plain.bytes))
      }
    }
  }
})

test('text files and the documents about tables are compressed too', async (t) => {
  const { user, url } = await setup(t)
  const points = 'select n, st_point(n, n, 4326) as the_geom from generate_series(1, 60) n'
  await user.sql(Array.from({ length: 12 }, (_, at) => `create table table_${at} (n int)`).join(';'))
  const token = `api_key=${user.masterToken}`
  for (const address of [
    urlOf(user, points, { format: 'topojson' }),
    urlOf(user, points, { format: 'kml' }),
    `${user.base}/api/v1/viz/?${token}`,
    `${user.base}/api/v4/datasets?${token}`,
  ]) {
    const plain = await readAddress(address)
    assert.equal(plain.headers['content-encoding'], undefined, address)
    const packed = await readAddress(address, 'gzip')
    assert.equal(packed.headers['content-encoding'], 'gzip', address)
    assert.equal(packed.headers.vary, 'Accept-Encoding')
    assert.deepEqual(zlib.gunzipSync(packed.bytes), plain.bytes)
  }
  const short = await readAddress(`${url}/api/v4/me?${token}`, 'gzip')
  assert.equal(short.headers['content-encoding'], undefined)
  assert.equal(short.headers.vary, 'Accept-Encoding')
})

test('the weights of Accept-Encoding are obeyed, and a client that accepts no encoding gets none', async (t) => {
  const { user } = await setup(t)
  const chosen = async (accept: string) =>
    (await read(user, rows(1000), {}, accept)).headers['content-encoding']
  assert.equal(await chosen('gzip;q=0.5, br'), 'br')
  assert.equal(await chosen('gzip, br;q=0.1'), 'gzip')
  assert.equal(await chosen('identity'), undefined)
  assert.equal(await chosen('gzip;q=0'), undefined)
})

test('a small answer and an error are not compressed', async (t) => {
  const { user } = await setup(t)
  for (const q of ['select 1 as n', rows(5), 'select nowhere']) {
    const { headers, bytes } = await read(user, q, {}, 'gzip, br')
    assert.equal(headers['content-encoding'], undefined, q)
    JSON.parse(bytes.toString())
  }
})

test('answers with tokens are never compressed', async (t) => {
  const { user } = await setup(t)
  const url = `${user.base}/api/v3/api_keys?api_key=${user.masterToken}`
  const [response] = (await once(get(url, { headers: { 'accept-encoding': 'gzip, br' } }), 'response')) as [
    IncomingMessage,
  ]
  assert.equal(response.headers['content-encoding'], undefined)
  response.resume()
})

test('a compressed answer that breaks off is not a complete file', async (t) => {
  const { user } = await setup(t)
  const failing = 'select 1 / (90000 - n) as x, md5(n::text) as t from generate_series(1, 100000) n'
  const asked = run('curl', ['-s', '--compressed', '-o', '/dev/null', urlOf(user, failing)])
  await assert.rejects(asked, ({ code }: { code: number }) => code !== 0)
  const { service } = await setup(t)
  await eventually(() => {
    const { open, idle } = service.services.databases.query.stats()
    assert.equal(idle, open)
  })
})

test('a compressed answer of millions of rows takes no more memory than one of thousands', async (t) => {
  const { user } = await setup(t)
  const wide = 'select generate_series(1, 1000000) as n, md5(random()::text) as t'
  await drain(user, `${wide} limit 100000`)
  global.gc?.()
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 10)
  await drain(user, wide)
  clearInterval(watch)
  assert.ok(peak - before < 60_000_000, `grew by ${peak - before} bytes`)
})

function urlOf(user: TestUser, q: string, parameters: Record<string, string> = {}): string {
  return `${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: user.masterToken, ...parameters })}`
}

const open = (user: TestUser, q: string, parameters: Record<string, string>, accept?: string) =>
  openAddress(urlOf(user, q, parameters), accept)

async function openAddress(address: string, accept?: string) {
  const headers = accept === undefined ? {} : { 'accept-encoding': accept }
  const request = get(address, { agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

const read = (user: TestUser, q: string, parameters: Record<string, string>, accept?: string) =>
  readAddress(urlOf(user, q, parameters), accept)

async function readAddress(address: string, accept?: string) {
  const response = await openAddress(address, accept)
  return { headers: response.headers, bytes: await buffer(response) }
}

async function drain(user: TestUser, q: string): Promise<void> {
  for await (const _ of await open(user, q, {}, 'gzip'));
}

const withoutTime = (bytes: Buffer) => bytes.toString().replace(/"time":[\d.]+/, '')

test('compressed rows are sent at once when the next row takes long', async (t) => {
  const { user } = await setup(t)
  const rows = `select md5(n::text) as hash, pg_sleep(600 * (n / 5000)) from generate_series(1, 5000) n`
  for (const [endpoint, q] of [
    ['sql', rows],
    ['sql/copyto', `COPY (${rows}) TO STDOUT`],
  ] as const) {
    const left = new AbortController()
    const query = new URLSearchParams({ q, api_key: user.masterToken })
    const response = await fetch(`${user.base}/api/v2/${endpoint}?${query}`, {
      headers: { 'accept-encoding': 'gzip' },
      signal: left.signal,
    })
    assert.equal(response.headers.get('content-encoding'), 'gzip')
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      if (text.length > 100_000) break
    }
    left.abort()
    assert.ok(text.length > 100_000, endpoint)
  }
})
