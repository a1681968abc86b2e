import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { setup } from '../support/service/setup.ts'

test('a query is saved, listed, shown, run with another key and deleted', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const { user } = house
  await user.sql(
    `create table towns (name text, country text); insert into towns values ('Lyon', 'FR'), ('Oslo', 'NO')`,
  )
  await keysClient(user).make('reader', grantsOf({ towns: ['select'] }))
  const sql = 'select name from towns where country = :c order by 1 limit :n'
  const saved = await cartage(
    me,
    'query',
    'save',
    'towns',
    sql,
    '-p',
    'c:text',
    '-p',
    'n:integer=10',
    '--description',
    'Towns of a country',
  )
  assert.deepEqual(saved, { code: 0, out: '', err: 'saved towns\n' })
  const listed = JSON.parse((await cartage(me, 'query', 'list')).out)
  assert.deepEqual([listed.name, listed.parameters, listed.public], ['towns', 'c:text n:integer=10', false])
  assert.equal(JSON.parse((await cartage(me, 'query', 'show', 'towns')).out).sql, sql)
  assert.equal((await cartage(me, 'query', 'run', 'towns', '-p', 'c=FR')).out, '{"name":"Lyon"}\n')
  assert.equal(
    (
      await cartage(
        me,
        'query',
        'run',
        'towns',
        '--params',
        '{"c":"NO","n":1}',
        '--as',
        'reader',
        '--format',
        'csv',
      )
    ).out,
    'name\r\nOslo\r\n',
  )
  const terminal = inTerminal(t, me, shellLine('query', 'run', 'towns', '-p', 'c=FR', '--no-progress'))
  assert.equal(await terminal.ended, 0)
  assert.match(terminal.shown(), / name\r\n─+\r\n Lyon\r\n1 row/)
  const folder = await mkdtemp(join(tmpdir(), 'queries-'))
  await cartage(me, 'query', 'run', 'towns', '-p', 'c=NO', '-o', join(folder, 'towns.csv'))
  assert.equal(await readFile(join(folder, 'towns.csv'), 'utf8'), 'name\r\nOslo\r\n')
  assert.equal((await cartage(me, 'query', 'delete', 'towns', '--yes')).err, 'deleted towns\n')
  assert.equal((await cartage(me, 'query', 'run', 'towns', '-p', 'c=NO')).code, 1)
})

test('a query that is saved again keeps what the command does not speak of', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const { queries } = clientOf(t, house)
  const chart = { kind: 'bar', x: 'name', y: ['n'] } as const
  const params = {
    least: { type: 'integer', default: 1 },
    most: { type: 'integer', required: true },
    gone: { type: 'date', required: false },
  } as const
  const sql = "select 'a' as name, n from generate_series(:least, :most) n"
  await queries.save('numbers', {
    sql: `${sql} where :gone is null`,
    description: 'Some numbers',
    public: true,
    chart,
    params,
  })
  const { created_at, updated_at: _before, ...former } = await queries.get('numbers')
  const saved = await cartage(me, 'query', 'save', 'numbers', sql, '-p', 'most:bigint=3')
  assert.deepEqual([saved.code, saved.err], [0, 'saved numbers\n'])
  const { updated_at: _after, ...now } = await queries.get('numbers')
  const { gone: _gone, ...left } = former.params
  assert.deepEqual(now, {
    ...former,
    created_at,
    sql,
    params: { ...left, most: { type: 'bigint', default: '3', required: false } },
  })
  assert.deepEqual(now.chart, chart)
  assert.equal((await cartage(me, 'query', 'run', 'numbers')).out.split('\n').length, 4)
  await cartage(me, 'query', 'save', 'numbers', sql, '--private', '--description', 'Others')
  const changed = await queries.get('numbers')
  assert.deepEqual([changed.public, changed.description, changed.chart], [false, 'Others', chart])
  const both = await cartage(me, 'query', 'save', 'numbers', sql, '--private', '--public')
  assert.deepEqual([both.code, /--public or --private, not both/.test(both.err)], [2, true])
})

test('a statement is read from a file, defaults of arrays are JSON, and mistakes are named', async (t) => {
  const me = connection(await setup(t))
  const folder = await mkdtemp(join(tmpdir(), 'queries-'))
  const file = join(folder, 'ids.sql')
  await writeFile(file, 'select unnest(:ids) as id -- :not\n')
  assert.equal(
    (await cartage(me, 'query', 'save', 'ids', '-f', file, '-p', 'ids:integer[]=[1,2]', '--public')).code,
    0,
  )
  assert.equal((await cartage(me, 'query', 'run', 'ids')).out, '{"id":1}\n{"id":2}\n')
  for (const [args, text] of [
    [['query', 'save', 'x', 'select 1', '-f', file], /give a statement or -f FILE, not both/],
    [['query', 'save', 'x', 'select :a', '-p', 'a:strange'], /-p a: the type must be one of text/],
    [['query', 'save', 'x', 'select :a', '-p', 'a:json={'], /-p a: the default must be JSON/],
    [['query', 'save', 'x', 'select :a', '-p', '=1'], /-p must be NAME:TYPE/],
    [['query', 'run', 'ids', '--params', '[1]'], /--params must be a JSON object/],
  ] as const) {
    const { code, err } = await cartage(me, ...args)
    assert.equal(code, 2, err)
    assert.match(err, text)
  }
  const refused = await cartage(me, 'query', 'save', 'x', 'delete from nothing')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /sql must be one SELECT/)
  const unknown = await cartage(me, 'query', 'run', 'ids', '-p', 'town=Lyon')
  assert.equal(unknown.code, 1)
  assert.match(unknown.err, /The query has no parameter 'town'/)
})
