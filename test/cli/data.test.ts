import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection, installation } from '../support/http/call.ts'
import { randomName, setup } from '../support/service/setup.ts'

test('a person runs SQL, a job and copies with a key, over HTTP like everybody else', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const created = await cartage(me, 'sql', 'create table t (id int, name text)')
  assert.equal(created.code, 0, created.err)
  const file = join(tmpdir(), randomName('rows'))
  await writeFile(file, '1\tone\n2\ttwo\n')
  const copied = await cartage(me, 'copy', 'from', 'copy t from stdin', file)
  assert.match(copied.out, /^2 rows in /)
  const job = await cartage(me, 'job', 'run', 'update t set name = upper(name)')
  assert.match(job.out, / done\n$/)
  const read = await cartage(me, 'sql', 'select * from t order by id')
  assert.equal(read.out, '{"id":1,"name":"ONE"}\n{"id":2,"name":"TWO"}\n')
  assert.equal((await cartage(me, 'copy', 'to', 'copy t to stdout csv', file)).code, 0)
  assert.equal(await readFile(file, 'utf8'), '1,ONE\n2,TWO\n')
})

test('a failed job exits with code 1 and the reason', async (t) => {
  const house = await setup(t, { worker: true })
  const { code, out } = await cartage(connection(house), 'job', 'run', 'select 1/0')
  assert.equal(code, 1)
  assert.match(out, / failed: division by zero\n$/)
})

test('a refusal of the service, and an unreachable service, are one sentence each', async (t) => {
  const house = await setup(t)
  const refused = await cartage({ ...connection(house), CARTAGE_API_KEY: 'wrong' }, 'sql', 'select 1')
  assert.deepEqual(
    [refused.code, refused.err],
    [4, 'error: Unauthorized\nhint: No key of this account has this token\n'],
  )
  const missing = await cartage(
    { ...connection(house), CARTAGE_URL: 'http://127.0.0.1:9' },
    'sql',
    'select 1',
  )
  assert.equal(missing.code, 3)
  assert.match(missing.err, /^error: No service answers at http:\/\/127\.0\.0\.1:9/)
  const without = await cartage({}, 'sql', 'select 1')
  assert.deepEqual(
    [without.code, without.err],
    [4, 'error: no key: run cartage login, or set CARTAGE_USER and CARTAGE_API_KEY\n'],
  )
})

test('the command line shares and unshares a table', async (t) => {
  const house = await setup(t)
  await house.user.sql('create table t as select 1 as id')
  const read = () => fetch(`${house.user.base}/api/v2/sql?q=select+*+from+t`)
  assert.equal((await read()).status, 403)
  const shared = await cartage(installation(house), 'table', 'share', house.user.username, 't')
  assert.equal(shared.out, `${house.user.username}.t is public\n`)
  assert.equal((await read()).status, 200)
  await cartage(installation(house), 'table', 'unshare', house.user.username, 't')
  assert.equal((await read()).status, 403)
  const unknown = await cartage(installation(house), 'table', 'share', house.user.username, 'no such table')
  assert.deepEqual([unknown.code, unknown.err], [1, "cartage: Table 'no such table' not found\n"])
})

test('audit, doctor, repair and hosts work on an installation', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const audit = await cartage(installation(house), 'audit', '--account', house.user.username, '--json')
  assert.equal(audit.code, 0, audit.err)
  assert.ok(JSON.parse(audit.out).records.length > 0)
  const doctor = await cartage(installation(house), 'doctor', '--json')
  assert.ok(JSON.parse(doctor.out).checks.some((check: { name: string }) => check.name === 'secret'))
  assert.equal((await cartage(installation(house), 'repair')).out, 'nothing to repair\n')
  assert.match((await cartage(installation(house), 'host', 'list')).out, /^local \(\d+ databases\)/)
})
