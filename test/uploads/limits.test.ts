import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { codeOf, uploadApi } from '../support/imports/upload-api.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { eventually } from '../support/service/setup.ts'

const csv = 'a,b\n1,x\n2,y\n'

test('an upload larger than the limit or the rest of the quota is refused before it is sent', async (t) => {
  const house = await setupImports(t, { importMaxBytes: 20 * 1024 ** 2, copyMaxBytes: 1_000 })
  const { user } = house
  const api = uploadApi(user)
  assert.deepEqual(await codeOf(await api.create(20 * 1024 ** 2 + 1)), [413, 'import-too-large'])
  await user.sql('create table t (a int)')
  const copy = { kind: 'copyfrom', q: 'copy t from stdin' }
  assert.deepEqual(await codeOf(await api.create(1_001, copy)), [413, 'import-too-large'])
  const poor = await house.createUser({ quotaBytes: 8 * 1024 ** 2 })
  const quota = uploadApi(poor)
  assert.deepEqual(await codeOf(await quota.create(9 * 1024 ** 2)), [413, 'upload-over-quota'])
  await quota.make(5 * 1024 ** 2)
  assert.deepEqual(await codeOf(await quota.create(5 * 1024 ** 2)), [413, 'upload-over-quota'])
})

test('a user may have a limited number of unfinished uploads; finished ones do not count', async (t) => {
  const { user } = await setupImports(t, { uploadsPerUser: 2 })
  const api = uploadApi(user)
  const first = await api.make(csv.length)
  await api.make(csv.length)
  const refused = await api.create(csv.length)
  assert.equal(refused.headers.get('retry-after'), '60')
  assert.deepEqual(await codeOf(refused), [429, 'too-many-uploads'])
  assert.equal((await api.patch(first, 0, csv)).status, 204)
  await api.make(csv.length)
})

test('an upload that import or copyfrom would refuse is refused when it begins', async (t) => {
  const { user, left } = await setupImports(t)
  const api = uploadApi(user)
  // Only uploads: imports of other tests come and go.
  const uploads = () => left().filter((name) => name.startsWith('tus-'))
  const before = uploads()
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /must have filename/],
    [{ filename: 'a.csv', kind: 'export' }, /kind: it must be one of import, copyfrom/],
    [{ filename: 'a.csv', collision_strategy: 'replace' }, /collision_strategy/],
    [{ filename: 'a.csv', sql: 'select 1' }, /exactly one/],
    [{ filename: 'a.csv', url: 'http://example.org/a.csv' }, /exactly one/],
    [{ kind: 'copyfrom', q: 'select 1' }, /COPY/],
    [{ kind: 'copyfrom', q: 'copy t from stdin', max_bad_rows: '3' }, /go with on_error/],
  ]
  for (const [metadata, text] of cases) {
    const answer = await api.create(5, metadata)
    assert.equal(answer.status, 400)
    assert.match(((await answer.json()) as { error: string[] }).error[0]!, text)
  }
  for (const length of ['', '-1', '0', '1e3', '1.5', '99999999999999999999'])
    assert.equal((await api.create(length)).status, 400, length)
  const deferred = await api.create('', { filename: 'a.csv' }, { 'upload-defer-length': '1' })
  assert.match(((await deferred.json()) as { error: string[] }).error[0]!, /Defer-Length is not supported/)
  for (const metadata of ['filename YQ==,filename YQ==', 'filename a b', 'filename ***', 'filename gA=='])
    assert.equal((await api.create(5, {}, { 'upload-metadata': metadata })).status, 400, metadata)
  assert.deepEqual(uploads(), before)
})

test('an upload belongs to its key: another key or account cannot find it and needs its own rights', async (t) => {
  const house = await setupImports(t)
  const { user } = house
  const stranger = await house.createUser()
  const keys = keysClient(user)
  const sql = await keys.make('sql', grantsOf({}, ['public']))
  const weak = await keys.make('weak', grantsOf())
  const maps = await keys.make('maps', [{ type: 'apis', apis: ['maps'] }])
  const at = await uploadApi(user).make(csv.length)
  const id = at.split('/').at(-1)!
  for (const [api, address] of [
    [uploadApi(user, sql.token), at],
    [uploadApi(stranger), `${uploadApi(stranger).url}/${id}`],
  ] as const) {
    assert.equal((await api.head(address)).status, 404)
    assert.deepEqual(await codeOf(await api.patch(address, 0, csv)), [404, 'upload-not-found'])
    assert.deepEqual(await codeOf(await api.remove(address)), [404, 'upload-not-found'])
  }
  assert.equal((await uploadApi(stranger).patch(at, 0, csv)).status, 401)
  assert.equal((await uploadApi(user, weak.token).create(5)).status, 403)
  assert.equal((await uploadApi(user, maps.token).create(5)).status, 403)
  assert.equal((await uploadApi(user, 'wrong').create(5)).status, 401)
  assert.equal((await uploadApi(user, 'default_public').create(5)).status, 403)
  assert.equal(await uploadApi(user).offsetOf(at), 0)
  const own = uploadApi(user, sql.token)
  assert.equal((await own.patch(await own.make(csv.length), 0, csv)).status, 204)
})

test('an upload expires after its time with its bytes, and ends with its key', async (t) => {
  const house = await setupImports(t)
  const { user, left, service } = house
  const { control } = service.services.databases
  const key = await keysClient(user).make('gone', grantsOf({}, ['public']))
  const old = await uploadApi(user).make(csv.length)
  const ofKey = await uploadApi(user, key.token).make(csv.length)
  await keysClient(user).remove('gone')
  await control.query(
    `update cartage.uploads set expires_at = clock_timestamp() - interval '1 s' where id = $1`,
    [old.split('/').at(-1)],
  )
  assert.equal((await uploadApi(user).head(old)).status, 404)
  const { imports } = service.services
  const { utimes } = await import('node:fs/promises')
  for (const name of left().filter((each) => each.startsWith('tus-')))
    await utimes(`${house.spool}/${name}`, 0, 0)
  imports.stop()
  imports.start()
  await eventually(() => {
    for (const at of [old, ofKey]) assert.ok(!left().includes(`tus-${at.split('/').at(-1)}`))
  })
  const { rows } = await control.query('select from cartage.uploads where id = any ($1::uuid[])', [
    [old, ofKey].map((at) => at.split('/').at(-1)),
  ])
  assert.deepEqual(rows, [])
})
