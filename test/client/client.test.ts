import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build, type OutputFile } from 'esbuild'
import { CartageError, type Progress } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'

test('a refusal is thrown with its status, its text and the id of the request', async (t) => {
  const client = clientOf(t, await setup(t))
  await assert.rejects(client.keys.read('none'), (error: unknown) => {
    assert.ok(error instanceof CartageError)
    assert.equal(error.status, 404)
    assert.equal(error.message, 'API key not found: none')
    assert.deepEqual(error.body, { errors: 'API key not found: none', errors_cause: null })
    assert.match(error.requestId ?? '', /^[0-9a-f-]{36}$/)
    return true
  })
  await assert.rejects(client.sql('select x'), { status: 400, message: 'column "x" does not exist' })
})

test('rows have the digits that PostgreSQL sent', async (t) => {
  const client = clientOf(t, await setup(t))
  const { rows } = await client.sql('select 9007199254740993 as long, 1.50 as price, 0.5 as half, 2 as two')
  const { price, ...others } = rows[0]!
  assert.deepEqual(others, { long: 9007199254740993n, half: 0.5, two: 2 })
  assert.equal(String(price), '1.50')
})

test('rows are sent and received as streams, plain or compressed', async (t) => {
  const client = clientOf(t, await setup(t))
  await client.sql('create table t (n int)')
  const rows = async function* () {
    for (let n = 0; n < 1_000; n++) yield `${n}\n`
  }
  assert.equal((await client.copyFrom('copy t from stdin', rows())).total_rows, 1_000)
  const packed = await client.copyFrom('copy t from stdin', gzipSync('1000\n'), { contentEncoding: 'gzip' })
  assert.equal(packed.total_rows, 1)
  const out = await text(await client.copyTo('copy (select sum(n) from t) to stdout'))
  assert.equal(out, '500500\n')
  for (const whole of ['1\n', Buffer.from('2\n'), new Blob(['3\n4\n'])]) {
    assert.ok((await client.copyFrom('copy t from stdin', whole)).total_rows > 0)
  }
})

test('a table is created with its rows from any source, and a COPY may be longer than a URL', async (t) => {
  const client = clientOf(t, await setup(t))
  const create = 'create table t (n int) -- ü'
  await assert.rejects(client.copyFrom('copy t from stdin', 'x\n', { create }), { status: 400 })
  await assert.rejects(client.sql('select from t'), /does not exist/)
  assert.equal((await client.copyFrom('copy t from stdin -- ü', '1\n', { create })).total_rows, 1)
  const again = { create: 'create table if not exists t (n int)' }
  const gzip = { ...again, contentEncoding: 'gzip' } as const
  for (const upload of [Buffer.from('2\n'), new Blob(['3\n']), Readable.from(['4\n'])])
    assert.equal((await client.copyFrom('copy t from stdin', upload, again)).total_rows, 1)
  await client.copyFrom('copy t from stdin', gzipSync('5\n'), gzip)
  await client.copyFrom('copy t from stdin', Readable.from([gzipSync('6\n')]), gzip)
  await client.copyFrom(`copy t from stdin -- ${'long '.repeat(4_000)}`, '7\n')
  assert.deepEqual((await client.sql('select sum(n)::int as sum from t')).rows, [{ sum: 28 }])
})

test('an upload that is refused early ends with the reason, not with a broken connection', async (t) => {
  const client = clientOf(t, await setup(t))
  const endless = Readable.from(
    (async function* () {
      for (;;) yield Buffer.alloc(64 * 1024, '1\n')
    })(),
  )
  await assert.rejects(client.copyFrom('copy no_such_table from stdin', endless), {
    status: 400,
    message: 'relation "no_such_table" does not exist',
  })
  assert.ok(endless.destroyed)
})

test('a job is created once, however often its request is repeated', async (t) => {
  const client = clientOf(t, await setup(t))
  const options = { idempotencyKey: 'the same' }
  const first = await client.jobs.create('select 1', options)
  assert.equal((await client.jobs.create('select 1', options)).job_id, first.job_id)
  assert.notEqual((await client.jobs.create('select 1')).job_id, first.job_id)
  assert.equal((await client.jobs.update(first.job_id, ['select 2'])).status, 'pending')
  assert.equal((await client.jobs.cancel(first.job_id)).status, 'cancelled')
  assert.equal((await client.jobs.finished(first.job_id)).status, 'cancelled')
})

test('the browser client needs nothing of Node and is small', async () => {
  const { outputFiles } = await build({
    entryPoints: ['src/client/browser-client.ts'],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  })
  const [{ text: script, contents }] = outputFiles as [OutputFile]
  assert.ok(!/node:|\brequire\b|\bBuffer\b|\bprocess\b/.test(script))
  assert.ok(gzipSync(contents).length < 19_000, `${gzipSync(contents).length} bytes`)
})

test('uploads and downloads report their progress', async (t) => {
  const client = clientOf(t, await setup(t))
  await client.sql('create table t (n int)')
  const told: Progress[] = []
  const onProgress = (progress: Progress) => told.push(progress)
  const piece = '12345\n'.repeat(10_000)
  await client.copyFrom('copy t from stdin', Readable.from([piece, piece]), { onProgress })
  assert.deepEqual(told, [{ bytes: piece.length }, { bytes: 2 * piece.length }])
  await client.copyFrom('copy t from stdin', new Blob([piece, piece]), { onProgress })
  const rows = piece.repeat(4)
  assert.deepEqual(told.at(-1), { bytes: 2 * piece.length, total: 2 * piece.length })
  const out = await text(await client.copyTo('copy t to stdout', { onProgress }))
  assert.equal(out, rows)
  assert.deepEqual(told.at(-1), { bytes: rows.length })
})

test('an error of the source is thrown unchanged, and nothing is stored', async (t) => {
  const client = clientOf(t, await setup(t))
  await client.sql('create table t (n int)')
  const missing = createReadStream('/nothing/here.csv')
  await assert.rejects(client.copyFrom('copy t from stdin', missing), { code: 'ENOENT' })
  const failing = async function* () {
    yield '1\n'
    throw new Error('the disk is gone')
  }
  await assert.rejects(client.copyFrom('copy t from stdin', failing()), { message: 'the disk is gone' })
  assert.deepEqual((await client.sql('select count(*) as n from t')).rows, [{ n: 0 }])
})

test('an error has everything that PostgreSQL reported', async (t) => {
  const client = clientOf(t, await setup(t))
  await assert.rejects(client.sql('select nam from (values (1)) v(name)'), (error: unknown) => {
    assert.ok(error instanceof CartageError)
    const { status, code, sqlstate, position, hint } = error
    assert.deepEqual([status, code, sqlstate, position], [400, 'database', '42703', 8])
    assert.equal(hint, 'Perhaps you meant to reference the column "v.name".')
    return true
  })
})
