import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type JobItem, partsOf } from '../../src/contract/job-items.ts'
import { cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { eventually, setup } from '../support/service/setup.ts'

const withWorker = { worker: true }

test('a chain is shown live; Ctrl-C cancels it and shows the outcome of each statement', async (t) => {
  const house = await setup(t, withWorker)
  const file = join(await mkdtemp(join(tmpdir(), 'job-')), 'rebuild.sql')
  await writeFile(
    file,
    `create table big as select st_setsrid(st_makepoint(1, 2), 4326) as the_geom;
     create table big2 as select the_geom, pg_sleep(600)::text as s from big;
     analyze big`,
  )
  const terminal = inTerminal(t, connection(house), shellLine('job', 'run', '-f', file))
  await eventually(
    () => assert.match(terminal.shown(), /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] 2 {2}create table big2 as select …/),
    60_000,
  )
  terminal.type('\x03')
  assert.equal(await terminal.ended, 130)
  const shown = terminal.shown()
  assert.match(shown, /^job [0-9a-f-]{36}\r\n/)
  assert.match(shown, / {2}✓ 1 {2}create table big as select … {4} +\d+(\.\d)? m?s\r\n/)
  assert.match(shown, / {4}3 {2}analyze big\r\n/)
  assert.ok(
    shown.endsWith(
      ' cancelling … cancelled. Statement 1 had been committed, 2 was undone, 3 did not run.\r\n',
    ),
    JSON.stringify(shown.slice(-200)),
  )
})

test('a job is queued with its options, listed, waited for and run again', async (t) => {
  const house = await setup(t, withWorker)
  const me = connection(house)
  const options = [
    '--into',
    'Made',
    '--timeout',
    '10m',
    '--on-success',
    'create table after as select 1 as id',
  ]
  const queued = await cartage(me, 'job', 'run', 'select 1 as id', ...options, '--detach')
  const id = queued.out.trim()
  const waited = await cartage(me, 'job', 'wait', id)
  assert.deepEqual([waited.code, waited.out, waited.err], [0, `${id} done\n`, `job ${id}\n`])
  assert.equal((await house.user.sql('select * from "Made", after')).rowCount, 1)
  const again = await cartage(me, 'job', 'again', id)
  assert.match(again.out, / failed: relation "Made" already exists\n$/)
  assert.equal(again.code, 1)
  const listed = await cartage(me, 'job', 'list', '--json')
  assert.deepEqual(
    JSON.parse(listed.out).map(({ status }: { status: string }) => status),
    ['failed', 'done'],
  )
})

for (const [form, query, beside] of [
  ['one statement', 'select $1::text', { params: ['x'], timeout: 61_000 }],
  ['a chain', [{ query: 'select $1::text', params: ['x'], timeout: 61_000 }], {}],
] as const) {
  test(`\`cartage job again\` keeps every member of a job of ${form}`, async (t) => {
    const house = await setup(t, withWorker)
    const api = fullJobApi(house.user)
    const tags = { name: 'nightly', labels: ['a', 'b'], retry: { attempts: 3, backoff_s: 7 } }
    const first = await api.run({ query, ...beside, ...tags })
    const again = await cartage(connection(house), 'job', 'again', first.job_id)
    assert.deepEqual([again.code, again.out.includes(first.job_id)], [0, false], again.err)
    const second = await api.read(again.out.slice(0, 36))
    const [{ query: statement, params, timeout }] = partsOf(second).items as [JobItem]
    assert.deepEqual(
      { statement, params, timeout },
      { statement: 'select $1::text', params: ['x'], timeout: 61_000 },
    )
    const { name, labels, retry } = second
    assert.deepEqual({ name, labels, retry }, tags)
  })
}

test('`cartage job follow` and `job status` show how far PostgreSQL says that a job is, and what it waits for', async (t) => {
  const house = await setup(t, withWorker)
  const me = connection(house)
  await house.user.sql(`create table big as select n from generate_series(1, 2000) n;
    create function slow(n int) returns int immutable language plpgsql as
      $$ begin perform pg_sleep(0.02); return n; end $$`)
  const { out } = await cartage(me, 'job', 'run', 'create index on big (slow(n))', '--detach')
  const terminal = inTerminal(t, me, shellLine('job', 'follow', out.trim()))
  await eventually(() => assert.match(terminal.shown(), /█+░+ \d+ % {2}building index/), 60_000)
  const piped = await cartage(me, 'job', 'status', out.trim())
  assert.match(piped.out, /^[0-9a-f-]{36} running \(\d+ %, building index[^\n]*\)\n$/)
  const json = JSON.parse((await cartage(me, 'job', 'status', out.trim(), '--json')).out)
  assert.match(json.progress.phase, /^building index/)
  const drawn = inTerminal(t, me, shellLine('job', 'status', out.trim()))
  assert.equal(await drawn.ended, 0)
  assert.match(drawn.shown(), /█+░+ \d+ % {2}building index[^\n]*\n(\S*)?running\r\n$/)
  const { out: waiting } = await cartage(me, 'job', 'run', 'select 1', 'select 2', '--detach')
  assert.match(
    (await cartage(me, 'job', 'status', waiting.trim())).out,
    / pending \(waiting: 1 job ahead\)\n$/,
  )
  await cartage(me, 'job', 'cancel', waiting.trim())
  await cartage(me, 'job', 'cancel', out.trim())
  assert.notEqual(await terminal.ended, 0)
})
