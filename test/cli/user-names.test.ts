import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('every command takes a table name as the list shows it, with its schema, or as SQL writes it', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const file = join(await mkdtemp(join(tmpdir(), 'names-')), 'rows.csv')
  await writeFile(file, 'a\n1\n')
  const succeed = async (...args: string[]) => {
    const { code, err } = await cartage(me, ...args)
    assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  }
  await house.user.sql('create schema other; create table other."My Table" (a int)')
  const names = ['My Table', 'public."My Table"', 'other.My Table']
  for (const [at, name] of names.entries()) {
    await succeed('import', file, name, ...(at === 0 ? [] : ['--append']), '--no-prepare')
    await succeed('table', 'show', name)
    await succeed('table', 'prepare', name)
    await succeed('export', name)
    await succeed('key', 'create', `key ${at}`, '--read', name)
    if (at < 2) await succeed('table', 'public', name)
  }
  const counts =
    'select (select count(*) from "My Table") as here, (select count(*) from other."My Table") as there'
  assert.deepEqual((await house.user.sql(counts)).rows, [{ here: '2', there: '1' }])
  await house.user.sql('create table places (a int)')
  assert.equal((await cartage(me, 'table', 'show', 'Places')).code, 0)
  assert.deepEqual(await cartage(me, 'table', 'show', 'no such'), {
    code: 1,
    out: '',
    err: 'error: relation "no such" does not exist\n',
  })
  const dotted = await cartage(me, 'table', 'show', 'a.b.c')
  assert.equal(dotted.err, `error: 'a.b.c' is not the name of a table. Quote a name with a dot: '"a.b"'\n`)
})
