import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { codeOf, receivedOf, uploadApi } from '../support/imports/upload-api.ts'
import { eventually } from '../support/service/setup.ts'

const csv = 'a,b\n1,x\n2,y\n'

test('a wrong offset changes nothing, and the answer has the right one', async (t) => {
  const { user } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length)
  await api.patch(at, 0, csv.slice(0, 5))
  for (const offset of [0, 4, 6, 11, 12, 999_999_999]) {
    const answer = await api.patch(at, offset, 'zzz')
    assert.equal(answer.headers.get('upload-offset'), '5')
    assert.deepEqual(await codeOf(answer), [409, 'upload-offset-wrong'], String(offset))
  }
  for (const offset of ['-1', '5.0', '0x5', '', ' ', '5,5', '9'.repeat(30)])
    assert.equal((await api.patch(at, offset, 'zzz')).status, 400, offset)
  assert.equal((await api.patch(at, 5, 'zzz', { 'content-type': 'text/csv' })).status, 415)
  assert.equal(await api.offsetOf(at), 5)
})

test('more bytes than announced are refused, with and without a length', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length)
  assert.deepEqual(await codeOf(await api.patch(at, 0, `${csv}more`)), [413, 'import-too-large'])
  assert.equal(await api.offsetOf(at), 0)
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(`${csv}more`))
      controller.close()
    },
  })
  const headers = {
    authorization: `Basic ${Buffer.from(`${user.username}:${user.masterToken}`).toString('base64')}`,
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '0',
  }
  const options = { method: 'PATCH', headers, body, duplex: 'half' }
  assert.deepEqual(await codeOf(await fetch(at, options as RequestInit)), [413, 'import-too-large'])
  const offset = await api.offsetOf(at)
  assert.equal(offset, csv.length - 1)
  const last = await api.patch(at, offset, csv.slice(offset))
  const done = await wait(last.headers.get('location')!.split('/').at(-1)!)
  assert.deepEqual([done.state, done.progress.rows], ['complete', 2])
})

test('of two requests that write to one upload the later one continues, and no bytes are mixed', async (t) => {
  const { user, wait, service } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length, { filename: 'two.csv' })
  const first = await api.cutPatch(at, 0, csv.slice(0, 5), csv.length, { stay: true })
  await eventually(async () => assert.equal(await receivedOf(service, at), 5))
  const second = await api.patch(at, 5, csv.slice(5))
  assert.equal(second.status, 204)
  await eventually(() => assert.equal(first.closed, true))
  const done = await wait(second.headers.get('location')!.split('/').at(-1)!)
  assert.deepEqual([done.state, done.progress.rows], ['complete', 2])
})

test('twenty concurrent last requests make one import', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length, { filename: 'race.csv' })
  await api.patch(at, 0, csv.slice(0, 5))
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => api.patch(at, 5, csv.slice(5)).catch(() => undefined)),
  )
  const last = await eventually(async () => {
    const answer = await api.patch(at, csv.length, '')
    assert.equal(answer.status, 204)
    return answer
  })
  for (const answer of answers)
    assert.ok(!answer || [204, 409, 423].includes(answer.status), String(answer?.status))
  await wait(last.headers.get('location')!.split('/').at(-1)!)
  const listed = await fetch(`${user.base}/api/v1/imports?all=true&api_key=${user.masterToken}`)
  assert.equal(((await listed.json()) as { imports: string[] }).imports.length, 1)
  assert.deepEqual((await user.sql('select count(*)::int as n from race')).rows, [{ n: 2 }])
})

test('an address without an upload is 404, whatever it contains', async (t) => {
  const { user } = await setupImports(t)
  const api = uploadApi(user)
  for (const id of ['x', '..%2f..%2fetc', '%00', '6c1c2f9e-3f8c-4b57-9c33-0f3f3f3f3f3f', "a'--"])
    assert.ok([400, 404].includes((await api.head(`${api.url}/${id}`)).status), id)
})

test('a name in the metadata is only a name', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  for (const filename of ['../../../tmp/evil.csv', '-f.csv', 'PG:host=x.csv']) {
    const at = await api.make(csv.length, { filename, __proto__: 'x', constructor: 'y' } as never)
    const last = await api.patch(at, 0, csv)
    const done = await wait(last.headers.get('location')!.split('/').at(-1)!)
    assert.equal(done.state, 'complete', JSON.stringify(done.get_error_text))
  }
})
