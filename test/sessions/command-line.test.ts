import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { beginCartage, cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('a pipe is one session: ROLLBACK undoes the change, SET stays, COMMIT stores', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  await house.user.sql('create table t (x int)')
  const pipe = (text: string) => beginCartage(me, ['sql'], text).ended
  assert.equal((await pipe('begin;\ninsert into t values (1);\nrollback;\n')).code, 0)
  assert.deepEqual((await house.user.sql('select x from t')).rows, [])
  const kept = await pipe(
    "set timezone = 'Asia/Tokyo';\nbegin;\ninsert into t values (2);\ncommit;\ncreate temp table mine as select 7 as n;\nselect current_setting('timezone') as zone, n from mine;\n",
  )
  assert.deepEqual([kept.code, kept.out], [0, '{"zone":"Asia/Tokyo","n":7}\n'])
  assert.deepEqual((await house.user.sql('select x from t')).rows, [{ x: 2 }])
  const open = await pipe('begin;\ninsert into t values (3);\n')
  assert.equal(open.code, 1)
  assert.match(open.err, /^error: the statements end inside a transaction: it was rolled back/m)
  assert.deepEqual((await house.user.sql('select x from t')).rows, [{ x: 2 }])
})

test('a file stops at its first error, with the line; with -1 nothing of it is stored', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const folder = await mkdtemp(join(tmpdir(), 'cartage-test-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const bad = await file('bad.sql', 'create table a (x int);\nselect nam from a;\ncreate table b (x int);\n')
  const failed = await cartage(me, 'sql', '-f', bad)
  assert.equal(failed.code, 1)
  assert.match(failed.err, /column "nam" does not exist\n {2}2 │ select nam from a;\n {4}│ {8}\^\^\^/)
  const left = async () =>
    (
      await house.user.sql(
        "select to_regclass('a')::text as a, to_regclass('b')::text as b, to_regclass('c')::text as c",
      )
    ).rows[0]
  assert.deepEqual(await left(), { a: 'a', b: null, c: null })
  await house.user.sql('drop table a')
  assert.equal((await cartage(me, 'sql', '-1', '-f', bad)).code, 1)
  assert.deepEqual(await left(), { a: null, b: null, c: null })
  const good = await file(
    'good.sql',
    'create table c (x int);\ninsert into c values (1);\nselect x from c;\n',
  )
  assert.deepEqual(await cartage(me, 'sql', '-1', '-f', good), { code: 0, out: '{"x":1}\n', err: '' })
  assert.deepEqual(await left(), { a: null, b: null, c: 'c' })
})

test('a lost session ends the command with the reason and exit code 1', async (t) => {
  const house = await setup(t)
  await house.user.sql('create table t (x int)')
  const { child, ended } = beginCartage(connection(house), [
    'sql',
    '-f',
    await written('begin;\ninsert into t values (1);\nselect pg_sleep(20);\ncommit;\n'),
  ])
  assert.ok(child)
  await eventually(async () => {
    const { rowCount } = await house.admin(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and query ~ 'pg_sleep' and state = 'active'`,
      [house.user.account.masterRole],
    )
    assert.equal(rowCount, 1)
  })
  const { code, err } = await ended
  assert.notEqual(code, 0)
  assert.match(err, /^error: /m)
  assert.deepEqual((await house.user.sql('select x from t')).rows, [])
})

test('a session lost between two statements is session-lost with exit code 1', async (t) => {
  const house = await setup(t, { config: { sessionMaxMs: 1_500 } })
  const text = `select 1;${' select pg_sleep(0.4);'.repeat(8)}`
  const { code, err } = await cartage(connection(house), 'sql', '-f', await written(text))
  assert.equal(code, 1)
  assert.match(err, /error: The session has ended: it has reached the longest time of a session/)
})

test('one statement needs no session', async (t) => {
  const house = await setup(t, { config: { sessionsPerKey: 0 } })
  const me = connection(house)
  assert.equal((await cartage(me, 'sql', 'select 1 as n')).out, '{"n":1}\n')
  assert.equal((await cartage(me, 'sql', 'begin; select 1 as n; commit')).out, '{"n":1}\n')
  assert.equal((await beginCartage(me, ['sql'], 'select 2 as n;').ended).out, '{"n":2}\n')
  const two = await beginCartage(me, ['sql'], 'select 1; select 2;').ended
  assert.equal(two.code, 3)
  assert.match(two.err, /over the limits: 0 sessions of this key/)
})

test('at the prompt a transaction stays open until COMMIT or ROLLBACK, and the prompt shows it', async (t) => {
  const house = await setup(t, { config: { sessionIdleMs: 4_000, sessionTransactionIdleMs: 3_000 } })
  await house.user.sql('create table t (x int)')
  const terminal = inTerminal(t, connection(house), shellLine('sql'))
  const typing = async (keys: string, expected: RegExp) => {
    const before = terminal.shown().length
    terminal.type(keys)
    await eventually(() => assert.match(terminal.shown().slice(before), expected), 60_000)
  }
  await typing('', /=> /)
  await typing('begin;\r', /=\*> /)
  await typing('insert into t values (1);\r', /1 row[\s\S]*=\*> /)
  await typing('select 1/0;\r', /division by zero[\s\S]*=!> /)
  await typing('rollback;\r', /done, [\s\S]*=> /)
  await typing('begin; insert into t values (2); commit;\r', /1 row[\s\S]*done, [\s\S]*=> /)
  terminal.type('select pg_sleep(30);\r')
  await eventually(async () => {
    const { rowCount } = await house.admin(
      `select from pg_stat_activity where usename = $1 and query ~ 'pg_sleep' and state = 'active'`,
      [house.user.account.masterRole],
    )
    assert.equal(rowCount, 1)
  })
  await typing('\x03', /cancelled\r\n.*=> /)
  await typing('begin; insert into t values (3);\r', /=\*> /)
  // Longer than a transaction may be idle.
  await eventually(async () => {
    const { rowCount } = await house.admin(
      `select from pg_stat_activity where usename = $1 and application_name = 'cartage session'`,
      [house.user.account.masterRole],
    )
    assert.equal(rowCount, 0)
  })
  await typing(
    'insert into t values (4);\r',
    /idle inside a transaction for too long[\s\S]*was not run[\s\S]*=> /,
  )
  await typing('insert into t values (5);\r', /1 row[\s\S]*=> /)
  terminal.type('begin;\r\\q\r')
  assert.equal(await terminal.ended, 0)
  assert.match(terminal.shown(), /the open transaction was rolled back/)
  assert.deepEqual((await house.user.sql('select x from t order by x')).rows, [{ x: 2 }, { x: 5 }])
})

async function written(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'cartage-test-')), 'statements.sql')
  await writeFile(file, text)
  return file
}
