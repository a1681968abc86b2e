import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, gzipSync } from 'node:zlib'
import { createAdminClient } from '../../src/client/client.ts'
import { copyfrom, copyUrl } from '../support/postgres/copying.ts'
import { newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const megabyte = 1024 ** 2
const mostGrowth = 64 * megabyte
const intoT = 'COPY t FROM STDIN (FORMAT csv)'
/** One megabyte of rows, to be sent repeatedly. */
const lines = Buffer.from(`7,${'x'.repeat(1021)}\n`.repeat(1024))
const rows = (megabytes: number) =>
  `COPY (SELECT 7, repeat('x', 1021) FROM generate_series(1, ${megabytes * 1024})) TO STDOUT CSV`

test('memory stays flat for an upload of any size, plain or compressed', async (t) => {
  const { user } = await setup(t)
  await user.sql('create unlogged table t (id int, name text)')
  const member = gzipSync(lines)
  const upload = async (megabytes: number, part: Buffer, encoding: string) => {
    const body = Readable.from(repeat(part, megabytes))
    const reply = await copyfrom(user, intoT, body, { 'content-encoding': encoding })
    assert.equal(reply.body.total_rows, megabytes * 1024)
    await user.sql('truncate t')
  }
  for (const [part, encoding] of [
    [lines, 'identity'],
    [member, 'gzip'],
  ] as const) {
    await upload(16, part, encoding)
    assertFlat(await growthDuring(() => upload(160, part, encoding)))
  }
})

test('memory stays flat for a download of any size, plain or compressed, also with a slow reader', async (t) => {
  const { user } = await setup(t)
  for (const encoding of ['identity', 'gzip']) {
    await download(user, 16, encoding, 0)
    assertFlat(await growthDuring(() => download(user, 160, encoding, 0)))
    assertFlat(await growthDuring(() => download(user, 64, encoding, 20)))
  }
})

test('the first COPY of a process takes little memory, although the SQL grammar is loaded', async (t) => {
  const { metric, copyIn } = await startAlone(t)
  const before = await metric('process_resident_memory_bytes')
  await copyIn(lines, 'identity')
  const after = await metric('process_resident_memory_bytes')
  assert.ok(after - before < 20 * megabyte, `grew by ${Math.round((after - before) / megabyte)} MB`)
})

test('a copy leaves no garbage that makes V8 collect its whole heap', async (t) => {
  const { user, metric, copyIn } = await startAlone(t)
  const collectionsDuring = async (copy: () => Promise<void>) => {
    const collections = () => metric('nodejs_gc_duration_seconds_count{kind="major"}')
    const before = await collections()
    await copy()
    return (await collections()) - before
  }
  for (const [part, encoding] of [
    [lines, 'identity'],
    [gzipSync(lines), 'gzip'],
  ] as const) {
    await copyIn(part, encoding)
    const times = await collectionsDuring(() => copyIn(Readable.from(repeat(part, 160)), encoding))
    assert.ok(times <= 2, `copyfrom ${encoding}: ${times} collections`)
  }
  const hashes = 'COPY (SELECT md5(i::text) FROM generate_series(1, 4000000) i) TO STDOUT'
  const times = await collectionsDuring(async () => {
    for await (const _ of await get(copyUrl(user, 'copyto', hashes), 'gzip'));
  })
  assert.ok(times <= 2, `copyto gzip: ${times} collections`)
})

/** Starts a service in its own process, with a table to copy into. */
async function startAlone(t: TestContext) {
  const installation = await newInstallation(t)
  const { url } = await startProcess(t, installation, ['serve'])
  const admin = createAdminClient({ baseUrl: url, token: installation.keys.adminToken! })
  const { username, api_key: masterToken } = await admin.users.create({ username: 'alone' })
  admin.close()
  const user = { base: `${url}/user/${username}`, masterToken }
  await fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    body: new URLSearchParams({ q: 'create unlogged table t (id int, name text)', api_key: masterToken }),
  })
  return {
    user,
    metric: async (name: string) => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const value = text.split('\n').find((line) => line.startsWith(`${name} `))
      return Number(value?.slice(name.length) ?? 0)
    },
    copyIn: async (body: Buffer | Readable, encoding: string) => {
      const reply = await copyfrom(user, intoT, body, { 'content-encoding': encoding })
      assert.equal(reply.status, 200)
    },
  }
}

function assertFlat(growth: number): void {
  assert.ok(growth < mostGrowth, `grew by ${Math.round(growth / megabyte)} MB`)
}

function* repeat(part: Buffer, times: number): Generator<Buffer> {
  for (let count = 0; count < times; count += 1) yield part
}

/** Reads to the end; a slow reader pauses after every megabyte. */
async function download(user: TestUser, megabytes: number, encoding: string, pauseMs: number): Promise<void> {
  const response = await get(copyUrl(user, 'copyto', rows(megabytes)), encoding)
  const body = encoding === 'gzip' ? response.pipe(createGunzip({ chunkSize: 256 * 1024 })) : response
  let bytes = 0
  let resting = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (pauseMs === 0 || bytes - resting < megabyte) continue
    resting = bytes
    await sleep(pauseMs)
  }
  assert.equal(bytes, megabytes * lines.length)
}

function get(url: string, encoding: string): Promise<Readable> {
  const sent = request(url, { agent: false, headers: { 'accept-encoding': encoding } })
  return new Promise((resolve, reject) => sent.on('response', resolve).on('error', reject).end())
}

async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  try {
    await work()
  } finally {
    clearInterval(watch)
  }
  return peak - before
}
