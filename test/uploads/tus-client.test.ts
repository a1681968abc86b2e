import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Upload, type UploadOptions } from 'tus-js-client'
import { cuttingNetwork } from '../support/http/cutting-network.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { receivedOf } from '../support/imports/upload-api.ts'
import { basic, eventually, type TestUser } from '../support/service/setup.ts'

/** Uploads with the reference client of the protocol. Returns the last headers and bodies. */
function send(user: TestUser, endpoint: string, file: Buffer, options: Partial<UploadOptions>) {
  let location: string | undefined
  let body = ''
  let retries = 0
  return new Promise<{ location: string | undefined; body: string; retries: number }>((resolve, reject) => {
    const upload = new Upload(file, {
      endpoint,
      headers: basic(user.username, user.masterToken),
      retryDelays: [0, 200, 500, 1_000, 1_000, 1_000],
      onAfterResponse: (request, response) => {
        if (!['PATCH', 'HEAD'].includes(request.getMethod())) return
        location = response.getHeader('location') ?? location
        body = response.getBody() || body
      },
      onShouldRetry: () => {
        retries += 1
        return true
      },
      onError: reject,
      onSuccess: () => resolve({ location, body, retries }),
      ...options,
    })
    upload.start()
  })
}

const rows = 60_000
const file = Buffer.from(
  `id,name\n${Array.from({ length: rows }, (_, id) => `${id},name of row ${id}`).join('\n')}\n`,
)

test('tus-js-client uploads a file over a network that cuts it, and the import has every row once', async (t) => {
  const { user, wait } = await setupImports(t)
  const network = await cuttingNetwork(t, user.base, 400_000, 3)
  const metadata = { filename: 'cuts.csv', filetype: 'text/csv', table_name: 'cuts' }
  const { location, retries } = await send(user, `${network.url}/api/v4/uploads`, file, { metadata })
  assert.equal(network.cutsLeft(), 0)
  assert.ok(retries >= 3, String(retries))
  const done = await wait(location!.split('/').at(-1)!)
  assert.deepEqual([done.state, done.progress.rows], ['complete', rows])
  const { rows: counted } = await user.sql(
    `select count(*)::int as n, count(distinct id)::int as ids, md5(string_agg(name, ',' order by id)) as names,
       (select md5(string_agg('name of row ' || i, ',' order by i)) from generate_series(0, ${rows - 1}) i) as wanted
     from cuts`,
  )
  const [{ n, ids, names, wanted }] = counted as [{ n: number; ids: number; names: string; wanted: string }]
  assert.deepEqual([n, ids, names], [rows, rows, wanted])
})

test('tus-js-client uploads in pieces, cut amid them, and gets the answer of a copyfrom', async (t) => {
  const { user } = await setupImports(t)
  await user.sql('create table t (id int, name text)')
  const network = await cuttingNetwork(t, user.base, 300_000, 2)
  const q = 'copy t from stdin with (format csv, header)'
  const { body } = await send(user, `${network.url}/api/v4/uploads`, file, {
    metadata: { kind: 'copyfrom', q },
    chunkSize: 250_000,
  })
  assert.equal((JSON.parse(body) as { total_rows: number }).total_rows, rows)
  assert.deepEqual((await user.sql('select count(*)::int as n from t')).rows, [{ n: rows }])
})

test('tus-js-client continues an upload of an earlier run, and terminates one', async (t) => {
  const { user, wait, service } = await setupImports(t)
  const endpoint = `${user.base}/api/v4/uploads`
  const network = await cuttingNetwork(t, user.base, 400_000, 1)
  let path = ''
  const broken = send(user, `${network.url}/api/v4/uploads`, file, {
    metadata: { filename: 'later.csv' },
    retryDelays: null as never,
    onAfterResponse: (_request, response) => {
      path = response.getHeader('location') ?? path
    },
  })
  await assert.rejects(broken)
  const here = new URL(path, endpoint).href
  // The service may notice the cut later.
  await eventually(async () => assert.ok((await receivedOf(service, here)) > 0))
  let first = -1
  const { location } = await send(user, endpoint, file, {
    uploadUrl: here,
    onProgress: (sent) => {
      if (first < 0) first = sent
    },
  })
  assert.ok(first > 0, String(first))
  assert.equal((await wait(location!.split('/').at(-1)!)).progress.rows, rows)
  await Upload.terminate(here, { headers: basic(user.username, user.masterToken) })
  const headers = { ...basic(user.username, user.masterToken), 'tus-resumable': '1.0.0' }
  assert.equal((await fetch(here, { method: 'HEAD', headers })).status, 404)
})
