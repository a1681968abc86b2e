import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { beginCartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { startFront } from '../support/http/http-front.ts'
import { jobApi } from '../support/jobs/job-api.ts'
import { runningCopies } from '../support/postgres/copying.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

const withWorker = { worker: true }

test('an import shows its progress, and Ctrl-C leaves neither rows nor table', async (t) => {
  const house = await setup(t, withWorker)
  await house.user.sql('create domain sluggish as text check (pg_sleep(0.02)::text is not null)')
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'slow.csv')
  const line = `${'x'.repeat(20_000)}\n`
  await writeFile(file, `name\n${line.repeat(1_000)}`)
  const terminal = inTerminal(t, connection(house), shellLine('import', file, '--type', 'name=sluggish'))
  const shown = () => terminal.shown().replaceAll('\r\x1b[K', '')
  const progress = /█*░+ {2}\d+ % {2}[\d.]+( [kM]B)? of 20 MB {2}[\d.]+ [kM]?B\/s {2}\d+(\.\d)? \w+ left/
  await eventually(() => assert.match(shown(), progress), 60_000)
  // On a busy machine the progress of reading comes first.
  assert.ok(shown().includes('slow.csv  1 column, 1,000 rows, 20 MB\r\n  name sluggish\r\n'), shown())
  const tables = async () => (await house.user.sql("select 1 from pg_class where relname = 'slow'")).rowCount
  // The table is not visible before its rows are stored.
  assert.equal(await tables(), 0)
  terminal.type('\x03')
  assert.equal(await terminal.ended, 130)
  assert.ok(terminal.shown().endsWith('\r\x1b[Kinterrupted\r\n'), terminal.shown())
  await eventually(async () => assert.equal(await runningCopies(house.user), 0))
  assert.equal(await tables(), 0)
})

test('a killed import leaves neither rows nor table', async (t) => {
  const house = await setup(t, withWorker)
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'slow.csv')
  await house.user.sql('create domain sluggish as text check (pg_sleep(0.02)::text is not null)')
  await writeFile(file, `name\n${`${'x'.repeat(20_000)}\n`.repeat(1_000)}`)
  const { child, ended } = beginCartage(connection(house), ['import', file, '--type', 'name=sluggish'])
  await eventually(async () => assert.equal(await runningCopies(house.user), 1), 60_000)
  child.kill('SIGKILL')
  await ended
  await eventually(async () => assert.equal(await runningCopies(house.user), 0))
  assert.equal((await house.user.sql("select from pg_class where relname = 'slow'")).rowCount, 0)
})

test('an import whose answer is lost finds its rows in the new table; for an append the outcome is unknown', async (t) => {
  const house = await setup(t, withWorker)
  const front = await startFront(t, house.url)
  const me = { ...connection(house), CARTAGE_URL: front.url }
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'kept.csv')
  await writeFile(file, 'n\n1\n2\n')
  front.next('pass', 'lose-answer')
  const made = await beginCartage(me, ['import', file]).ended
  assert.equal(made.code, 0, made.err)
  assert.match(made.err, /\nkept: 2 rows in /)
  front.next('pass', 'lose-answer')
  const appended = await beginCartage(me, ['import', file, '--append']).ended
  assert.equal(appended.code, 1)
  assert.match(
    appended.err,
    /\nerror: it is unknown whether the rows of .*kept\.csv were stored\. Check the table/,
  )
  assert.equal((await house.user.sql('select from kept')).rowCount, 4)
  const again = await beginCartage(me, ['import', file]).ended
  assert.match(again.err, /\nerror: relation "kept" already exists\n/)
  assert.ok(!front.seen.slice(-1)[0]!.includes('copyfrom'), 'no row is sent')
})

test('the second Ctrl-C of job run does not wait for the cancel and prints the command to do it', async (t) => {
  const house = await setup(t, withWorker)
  const { child, ended } = beginCartage(connection(house), ['job', 'run', 'select pg_sleep(60)'])
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })
  const id = await eventually(() => {
    const found = /^job ([0-9a-f-]{36})\n/.exec(told)
    assert.ok(found, told)
    return found[1]!
  }, 60_000)
  await eventually(() => assertAsleep(house), 60_000)
  // The cancel waits for the lock of the job's row.
  const holder = await house.service.services.databases.control.connect()
  try {
    await holder.query('begin')
    await holder.query('select from cartage.jobs where id = $1 for update', [id])
    child.kill('SIGINT')
    await eventually(() => assert.match(told, /\ncancelling … $/), 60_000)
    child.kill('SIGINT')
    const { code, out, err } = await ended
    assert.deepEqual([code, out], [130, ''])
    assert.equal(err, `job ${id}\ncancelling … left running. To cancel it: cartage job cancel ${id}\n`)
  } finally {
    await holder.query('rollback')
    holder.release()
  }
})

async function assertAsleep({ admin, user }: Setup): Promise<void> {
  const sleeping = "select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'"
  assert.equal((await admin(sleeping, [user.account.database])).rowCount, 1)
}

test('Ctrl-C of job wait only stops watching', async (t) => {
  const house = await setup(t, withWorker)
  const jobs = jobApi(house.user)
  const { job_id: id } = await jobs.submit('select pg_sleep(600)')
  const { child, ended } = beginCartage(connection(house), ['job', 'wait', id])
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })
  await eventually(() => assert.equal(told, `job ${id}\n`), 60_000)
  await eventually(async () => assert.equal((await jobs.read(id)).status, 'running'), 60_000)
  child.kill('SIGINT')
  assert.deepEqual(await ended, {
    code: 130,
    out: '',
    err: `job ${id}\nstopped watching; the job goes on. To cancel it: cartage job cancel ${id}\ninterrupted\n`,
  })
  assert.equal((await jobs.read(id)).status, 'running')
})
