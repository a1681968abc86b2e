import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { CartoClient, type CartoException, readAnswer } from '../support/keys/carto-client.ts'
import { basic, eventually, setup } from '../support/service/setup.ts'

test('carto-python runs SQL by form and by query string', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  for (const doPost of [true, false]) {
    const { rows, total_rows } = await carto.sql("select 1 as a, '100%' as b", { doPost })
    assert.deepEqual([rows, total_rows], [[{ a: 1, b: '100%' }], 1])
  }
  await assert.rejects(carto.sql('select nothing'), (error: CartoException) => {
    assert.equal(error.status, 400)
    assert.equal(error.message, 'column "nothing" does not exist')
    return true
  })
  const feature = (await carto.sql('select ST_MakePoint(1, 2) as the_geom', {
    format: 'geojson',
  })) as unknown as { features: unknown[] }
  assert.equal(feature.features.length, 1)
})

test('carto-python creates, reads and cancels a batch job', async (t) => {
  const { user } = await setup(t, { worker: true })
  const carto = new CartoClient(user)
  const created = await carto.createJob('create table t as select 1 as x')
  assert.equal(created.status, 'pending')
  await eventually(async () => assert.equal((await carto.readJob(created.job_id)).status, 'done'))
  assert.deepEqual((await carto.sql('select x from t')).rows, [{ x: 1 }])
  const long = await carto.createJob(['select pg_sleep(1000)'])
  assert.equal((await carto.cancelJob(long.job_id)).status, 'cancelled')
  // The text that the client expects when the job is over already.
  await assert.rejects(carto.cancelJob(created.job_id), /Cannot set status from done to cancelled/)
})

test('carto-python copies in with gzip chunks, and copies out', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  await carto.sql('create table t (a int, b text)')
  const lines = Array.from({ length: 2000 }, (_, n) => `${n},"row ${n}"\n`)
  const { total_rows } = await carto.copyFrom('COPY t (a, b) FROM stdin WITH (FORMAT csv)', lines)
  assert.equal(total_rows, 2000)
  const out = await carto.copyTo(
    'COPY (SELECT a, b FROM t WHERE a < 2 ORDER BY a) TO stdout WITH (FORMAT csv)',
  )
  assert.equal(out, '0,row 0\n1,row 1\n')
  await assert.rejects(carto.copyTo('COPY nothing TO stdout'), /relation "nothing" does not exist/)
})

test('carto-python lists the datasets and reads one by name', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  await carto.sql(Array.from({ length: 25 }, (_, n) => `create table t${n} (x int)`).join(';'))
  const names: string[] = []
  // CartoPaginator: reads page after page until it has the announced total.
  for (let page = 1, total = 1; names.length < total; page += 1) {
    const answer = await readAnswer<{ visualizations: { name: string }[]; total_user_entries: number }>(
      await carto.send('api/v1/viz/', 'GET', {
        params: { type: 'table', exclude_shared: 'true', page: String(page) },
      }),
    )
    total = answer.total_user_entries
    names.push(...answer.visualizations.map(({ name }) => name))
  }
  assert.equal(new Set(names).size, 25)
  const one = await readAnswer<{ privacy: string }>(
    await carto.send('api/v1/viz/t7', 'GET', { params: { type: 'table', exclude_shared: 'true' } }),
  )
  assert.equal(one.privacy, 'PRIVATE')
})

test('carto-python manages keys with Basic authentication', async (t) => {
  const { user } = await setup(t)
  const response = await fetch(`${user.base}/api/v3/api_keys`, {
    headers: basic(user.username, user.masterToken),
  })
  const { result } = (await response.json()) as { result: { token: string }[] }
  // AuthAPIClient.is_valid_api_key
  assert.ok(result.some(({ token }) => token === user.masterToken))
})

test('curl waits for 100 Continue before it sends a large form', async (t) => {
  const { user } = await setup(t)
  const body = new URLSearchParams({
    q: `select length('${'x'.repeat(2_000_000)}') as n`,
    api_key: user.masterToken,
  }).toString()
  const sent = request(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  assert.deepEqual(JSON.parse(await text(response)).rows, [{ n: 2_000_000 }])
})

test('copyto reads its parameters from a posted form, copyfrom accepts a body with a form type', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  await carto.sql('create table t (a int)')
  const copied = await fetch(
    `${user.base}/api/v2/sql/copyfrom?${new URLSearchParams({ q: 'COPY t FROM STDIN', api_key: user.masterToken })}`,
    { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: '1\n2\n\\.\n' },
  )
  assert.equal(((await copied.json()) as { total_rows: number }).total_rows, 2)
  const response = await fetch(`${user.base}/api/v2/sql/copyto`, {
    method: 'POST',
    body: new URLSearchParams({ q: 'COPY t TO STDOUT', api_key: user.masterToken, filename: 't.txt' }),
  })
  assert.equal(await response.text(), '1\n2\n')
})
