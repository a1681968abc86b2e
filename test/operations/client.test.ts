import assert from 'node:assert/strict'
import { access, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CartageError } from '../../src/client/cartage-error.ts'
import { createClient } from '../../src/client/client.ts'
import { type Setup, setup } from '../support/setup.ts'

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

test('rows have the digits that PostgreSQL gave', async (t) => {
  const client = clientOf(t, await setup(t))
  const { rows } = await client.sql('select 9007199254740993 as long, 1.50 as price, 0.5 as half, 2 as two')
  const { price, ...others } = rows[0]!
  assert.deepEqual(others, { long: 9007199254740993n, half: 0.5, two: 2 })
  assert.equal(String(price), '1.50')
})

test('rows go in and out as streams, plain or compressed', async (t) => {
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

test('a job is created once however often its request is repeated', async (t) => {
  const client = clientOf(t, await setup(t))
  const options = { idempotencyKey: 'the same' }
  const first = await client.jobs.create('select 1', options)
  assert.equal((await client.jobs.create('select 1', options)).job_id, first.job_id)
  assert.notEqual((await client.jobs.create('select 1')).job_id, first.job_id)
  assert.equal((await client.jobs.update(first.job_id, ['select 2'])).status, 'pending')
  assert.equal((await client.jobs.cancel(first.job_id)).status, 'cancelled')
  assert.equal((await client.jobs.finished(first.job_id)).status, 'cancelled')
})

test('the package exports the client', async () => {
  const { exports } = JSON.parse(await readFile('package.json', 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const source = exports['./client']!.default.replace(/^\.\/dist\/(.+)\.js$/, 'src/$1.ts')
  assert.equal(source, 'src/client/client.ts')
  await access(source)
})

function clientOf(t: Parameters<typeof setup>[0], { url, user }: Setup) {
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  return client
}
