import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setupImports } from '../support/imports/import-api.ts'
import { codeOf, encoded, uploadApi } from '../support/imports/upload-api.ts'
import { eventually } from '../support/service/setup.ts'

const csv = 'a,b\n1,x\n2,y\n'

test('an upload in pieces becomes an import, whose address is in the last answer', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  const made = await api.create(csv.length, { filename: 'pieces.csv', table_name: 'Other' })
  assert.equal(made.status, 201)
  assert.equal(made.headers.get('tus-resumable'), '1.0.0')
  const lasts = Date.parse(made.headers.get('upload-expires')!) - Date.now()
  assert.ok(Math.abs(lasts - 86_400_000) < 60_000, String(lasts))
  const at = new URL(made.headers.get('location')!, api.url).href
  const first = await api.patch(at, 0, csv.slice(0, 5))
  assert.deepEqual([first.status, first.headers.get('upload-offset')], [204, '5'])
  const head = await api.head(at)
  assert.deepEqual(
    ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control', 'location'].map((name) =>
      head.headers.get(name),
    ),
    ['5', '12', encoded({ filename: 'pieces.csv', table_name: 'Other' }), 'no-store', null],
  )
  const last = await api.patch(at, 5, csv.slice(5))
  assert.deepEqual([last.status, last.headers.get('upload-offset')], [204, '12'])
  const location = last.headers.get('location')!
  assert.match(location, new RegExp(`^/user/${user.username}/api/v1/imports/[0-9a-f-]{36}$`))
  const done = await wait(location.split('/').at(-1)!)
  assert.deepEqual([done.state, done.table_name, done.display_name], ['complete', 'other', 'pieces.csv'])
  assert.deepEqual((await user.sql('select a::int, b from other order by a')).rows, [
    { a: 1, b: 'x' },
    { a: 2, b: 'y' },
  ])
  assert.equal((await api.head(at)).headers.get('location'), location)
})

test('a repeated last request gets the same import, never a second one', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length, { filename: 'again.csv' })
  await api.patch(at, 0, csv.slice(0, 5))
  const answers = []
  for (let times = 0; times < 3; times++) answers.push(await api.patch(at, 5, csv.slice(5)))
  answers.push(await api.patch(at, csv.length, ''))
  const locations = new Set(answers.map(({ headers }) => headers.get('location')))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('upload-offset')]),
    Array.from({ length: 4 }, () => [204, '12']),
  )
  assert.equal(locations.size, 1)
  await wait([...locations][0]!.split('/').at(-1)!)
  const listed = await fetch(`${user.base}/api/v1/imports?all=true&api_key=${user.masterToken}`)
  assert.equal(((await listed.json()) as { imports: string[] }).imports.length, 1)
  assert.deepEqual(await codeOf(await api.patch(at, 3, 'x')), [409, 'upload-offset-wrong'])
})

test('a copyfrom is answered to the last request and stored once, however often that is repeated', async (t) => {
  const { user, left } = await setupImports(t)
  await user.sql('create table t (a int, b text)')
  const api = uploadApi(user)
  const q = 'copy t from stdin with (format csv, header)'
  const bad = 'a,b\n1,x\nnine,y\n3,z\n'
  const at = await api.make(bad.length, { kind: 'copyfrom', q, on_error: 'skip' })
  await api.patch(at, 0, bad.slice(0, 9))
  const answers = []
  for (let times = 0; times < 3; times++) {
    const answer = await api.patch(at, 9, bad.slice(9))
    assert.equal(answer.status, 200)
    answers.push(await answer.text())
  }
  assert.equal(new Set(answers).size, 1)
  const answer = JSON.parse(answers[0]!)
  assert.deepEqual([answer.total_rows, answer.rejected_rows, answer.rejected[0].line], [2, 1, 3])
  assert.deepEqual((await user.sql('select a from t order by a')).rows, [{ a: 1 }, { a: 3 }])
  assert.ok(!left().some((name) => name.includes(at.split('/').at(-1)!)))
})

test('a copyfrom that PostgreSQL refuses can be repaired and retried with the last byte', async (t) => {
  const { user } = await setupImports(t)
  await user.sql('create table t (a int primary key); insert into t values (1)')
  const api = uploadApi(user)
  const at = await api.make(4, { kind: 'copyfrom', q: 'copy t from stdin with (format csv)' })
  assert.deepEqual(await codeOf(await api.patch(at, 0, '1\n2\n')), [400, 'database'])
  assert.equal(await api.offsetOf(at), 3)
  await user.sql('delete from t')
  assert.equal((await api.patch(at, 3, '\n')).status, 200)
  assert.deepEqual((await user.sql('select count(*)::int as n from t')).rows, [{ n: 2 }])
})

test('a request that is cut keeps the bytes that arrived', async (t) => {
  const { user, wait } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length, { filename: 'cut.csv' })
  await api.cutPatch(at, 0, csv.slice(0, 7), csv.length)
  await eventually(async () => assert.equal(await api.offsetOf(at), 7))
  const last = await api.patch(at, 7, csv.slice(7))
  assert.equal(last.status, 204)
  assert.equal((await wait(last.headers.get('location')!.split('/').at(-1)!)).state, 'complete')
})

test('bytes with a checksum count only if it is right and all arrived', async (t) => {
  const { user } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length)
  const checksum = (text: string, algorithm = 'sha1') =>
    `${algorithm} ${createHash(algorithm).update(text).digest('base64')}`
  const part = csv.slice(0, 5)
  const wrong = await api.patch(at, 0, part, { 'upload-checksum': checksum('other') })
  assert.deepEqual(await codeOf(wrong), [460, 'upload-checksum-wrong'])
  assert.equal(await api.offsetOf(at), 0)
  await api.cutPatch(at, 0, part, csv.length, { checksum: checksum(csv) })
  await eventually(async () => {
    const answer = await api.patch(at, 0, '')
    assert.equal(answer.status, 204)
  })
  assert.equal(await api.offsetOf(at), 0)
  assert.deepEqual(await codeOf(await api.patch(at, 0, part, { 'upload-checksum': 'crc32 AAAA' })), [
    400,
    'bad-request',
  ])
  const right = await api.patch(at, 0, part, { 'upload-checksum': checksum(part) })
  assert.deepEqual([right.status, right.headers.get('upload-offset')], [204, '5'])
  const rest = { 'upload-checksum': checksum(csv.slice(5), 'sha256') }
  assert.equal((await api.patch(at, 5, csv.slice(5), rest)).status, 204)
})

test('OPTIONS has version, extensions, size and checksums, and another version is refused', async (t) => {
  const { user } = await setupImports(t, { importMaxBytes: 1_000 })
  const api = uploadApi(user)
  const options = await fetch(api.url, { method: 'OPTIONS' })
  assert.equal(options.status, 204)
  assert.deepEqual(
    ['tus-version', 'tus-extension', 'tus-max-size', 'tus-checksum-algorithm'].map((name) =>
      options.headers.get(name),
    ),
    ['1.0.0', 'creation,termination,checksum,expiration', '1000', 'sha1,sha256,sha512,md5'],
  )
  const old = await api.create(5, { filename: 'a.csv' }, { 'tus-resumable': '0.2.2' })
  assert.deepEqual([old.status, old.headers.get('tus-version')], [412, '1.0.0'])
})

test('a terminated upload is gone with its bytes', async (t) => {
  const { user, left } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length)
  await api.patch(at, 0, csv.slice(0, 5))
  assert.equal((await api.remove(at)).status, 204)
  assert.equal((await api.head(at)).status, 404)
  assert.deepEqual(await codeOf(await api.patch(at, 5, csv.slice(5))), [404, 'upload-not-found'])
  assert.ok(!left().some((name) => name.includes(at.split('/').at(-1)!)))
})

test('a POST with X-HTTP-Method-Override works like PATCH and DELETE', async (t) => {
  const { user } = await setupImports(t)
  const api = uploadApi(user)
  const at = await api.make(csv.length)
  const send = (method: string, headers: Record<string, string>, body?: string) =>
    fetch(`${at}?api_key=${user.masterToken}`, {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'x-http-method-override': method, ...headers },
      ...(body && { body }),
    })
  const type = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' }
  assert.equal((await send('PATCH', type, csv.slice(0, 5))).status, 204)
  assert.equal(await api.offsetOf(at), 5)
  assert.equal((await send('DELETE', {})).status, 204)
  assert.equal((await api.head(at)).status, 404)
})

test('the example of the guide runs as pasted', async (t) => {
  const { user, wait } = await setupImports(t)
  const page = await readFile(new URL('../../docs/guide/imports.md', import.meta.url), 'utf8')
  const example = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].find(([, code]) =>
    code!.includes('v4/uploads'),
  )
  const env = { ...process.env, BASE: user.base, KEY: user.masterToken }
  const cwd = await mkdtemp(join(tmpdir(), 'docs-'))
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', example![1]!], { cwd, env })
  const id = /^location: .*imports\/(\S+)/im.exec(stdout)![1]!
  assert.deepEqual([(await wait(id)).table_name, (await wait(id)).progress.rows], ['towns', 2])
})
