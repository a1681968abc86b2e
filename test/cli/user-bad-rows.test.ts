import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('import leaves out bad rows and saves them as a file that can be repaired and imported', async (t) => {
  const { house, me, folder } = await setupFolder(t)
  const file = join(folder, 'places.csv')
  const rejects = join(folder, 'rejects.csv')
  await writeFile(file, 'id,"name, full"\n1,"One, first"\n2,two,too many\nthree,"Three"\n4,four\n')
  const flags = ['--skip-bad-rows', '--rejects', rejects, '--type', 'id=int', '--json']
  const imported = await cartage(me, 'import', file, 'places', ...flags)
  assert.equal(imported.code, 0, imported.err)
  const document = JSON.parse(imported.out)
  assert.deepEqual([document.rows, document.rejected_rows], [2, 2])
  assert.match(
    imported.err,
    /2 rows left out:\n {2}line 3: extra data after last expected column\n {2}line 4, id: invalid input/,
  )
  assert.equal(await readFile(rejects, 'utf8'), 'id,"name, full"\n2,two,too many\nthree,"Three"\n')

  await writeFile(rejects, (await readFile(rejects, 'utf8')).replace('three,', '3,').replace(',too many', ''))
  assert.equal((await cartage(me, 'import', rejects, 'places', '--append')).code, 0)
  const { rows } = await house.user.sql('select id from places order by id')
  assert.deepEqual(rows, [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }])
})

test('import --upsert updates rows by their key and adds the others', async (t) => {
  const { house, me, folder } = await setupFolder(t)
  await house.user.sql(
    `create table places (id int primary key, name text); insert into places values (1, 'one')`,
  )
  const file = join(folder, 'places.csv')
  await writeFile(file, 'name,id\nONE,1\ntwo,2\n')
  const merged = await cartage(me, 'import', file, 'places', '--upsert', 'id', '--no-prepare')
  assert.equal(merged.code, 0, merged.err)
  assert.match(merged.err, /1 row added, 1 row updated/)
  assert.deepEqual((await house.user.sql('select * from places order by id')).rows, [
    { id: 1, name: 'ONE' },
    { id: 2, name: 'two' },
  ])
  const other = await cartage(me, 'import', file, 'places', '--upsert', 'name', '--no-prepare')
  assert.equal(other.code, 1)
  assert.match(
    other.err,
    /CREATE UNIQUE INDEX ON places \("?name"?\)|CREATE UNIQUE INDEX ON "places" \("name"\)/,
  )
})

test('options for bad rows without any effect are refused', async (t) => {
  const { me, folder } = await setupFolder(t)
  const refused = await cartage(me, 'import', join(folder, 'x.csv'), '--rejects', 'r.csv')
  assert.deepEqual([refused.code, refused.err], [2, 'error: --rejects needs --skip-bad-rows\n'])
})

async function setupFolder(t: Parameters<typeof setup>[0]) {
  const house = await setup(t, { worker: true })
  return { house, me: connection(house), folder: await mkdtemp(join(tmpdir(), 'bad-rows-')) }
}
