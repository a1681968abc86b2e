import assert from 'node:assert/strict'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, gzipSync } from 'node:zlib'
import { copyfrom, copyUrl } from '../support/copying.ts'
import { setup, type TestUser } from '../support/setup.ts'

const megabyte = 1024 ** 2
const mostGrowth = 64 * megabyte
const intoT = 'COPY t FROM STDIN (FORMAT csv)'
/** One megabyte, again and again. */
const lines = Buffer.from(`7,${'x'.repeat(1021)}\n`.repeat(1024))
const rows = (megabytes: number) =>
  `COPY (SELECT 7, repeat('x', 1021) FROM generate_series(1, ${megabytes * 1024})) TO STDOUT CSV`

test('memory stays flat whatever the size of an upload, plain or compressed', async (t) => {
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

test('memory stays flat whatever the size of a download, plain or compressed, also with a slow reader', async (t) => {
  const { user } = await setup(t)
  for (const encoding of ['identity', 'gzip']) {
    await download(user, 16, encoding, 0)
    assertFlat(await growthDuring(() => download(user, 160, encoding, 0)))
    assertFlat(await growthDuring(() => download(user, 64, encoding, 20)))
  }
})

function assertFlat(growth: number): void {
  assert.ok(growth < mostGrowth, `grew by ${Math.round(growth / megabyte)} MB`)
}

function* repeat(part: Buffer, times: number): Generator<Buffer> {
  for (let count = 0; count < times; count += 1) yield part
}

/** Reads to the end; a slow reader stops for a moment after every megabyte. */
async function download(user: TestUser, megabytes: number, encoding: string, pauseMs: number): Promise<void> {
  const sent = request(copyUrl(user, 'copyto', rows(megabytes)), {
    agent: false,
    headers: { 'accept-encoding': encoding },
  })
  const response = await new Promise<Readable>((resolve, reject) =>
    sent.on('response', resolve).on('error', reject).end(),
  )
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
