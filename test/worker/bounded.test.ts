import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { parseTree } from '../../src/sql/grammar.ts'
import { endless, jobApi, runJob } from '../support/jobs/job-api.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { setup } from '../support/service/setup.ts'

const options = { worker: true } as const

test('a statement that fakes a shutdown of the server and ends its backend is not retried for ever', async (t) => {
  const { user } = await setup(t, options)
  await user.sql('create sequence tries')
  for (const errcode of ['57P01', '57P02', '57P03']) {
    const { rows: before } = await user.sql(`select setval('tries', 1)`)
    assert.equal(before.length, 1)
    const job = await runJob(
      jobApi(user),
      `do $$ begin
        perform nextval('tries');
        raise notice using errcode = '${errcode}', message = 'the server goes down';
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(10);
      end $$`,
    )
    assert.equal(job.status, 'failed')
    assert.match(job.failed_reason!, /times while this statement ran/)
    const { rows } = await user.sql('select last_value::int as tries from tries')
    assert.ok(rows[0].tries <= 11, `${rows[0].tries} tries with ${errcode}`)
  }
})

test('a worker discards rows of a SELECT and does not collect them in memory', async (t) => {
  const { user } = await setup(t, options)
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }, 5)
  t.after(() => clearInterval(timer))
  const job = await runJob(jobApi(user), `select repeat('x', 150 * 1024 * 1024)`)
  assert.equal(job.status, 'done')
  assert.ok(most < 75 * 1024 * 1024, `${most} bytes`)
})

test('a very long error text is cut', async (t) => {
  const { user } = await setup(t, options)
  const job = await runJob(
    jobApi(user),
    `do $$ begin raise exception '%', repeat('x', 20 * 1024 * 1024) using hint = 'none'; end $$`,
  )
  assert.equal(job.status, 'failed')
  assert.match(job.failed_reason!, /^x{8192}\.\.\.$/)
})

test('a text too deep for the parser is applied as a whole or not at all', async (t) => {
  const bundle = await setup(t, options)
  const { user, admin } = bundle
  const api = jobApi(user)
  await runJob(api, 'create table ledger (item int)')
  const deep = `${'/*'.repeat(2_000)}${'*/'.repeat(2_000)} insert into ledger values (1)`
  assert.deepEqual(parseTree(deep).ok, false)
  const { job_id } = await api.submit(`${deep}; ${endless}`)
  const { pid } = await untilRunning(bundle, job_id)
  await admin('select pg_terminate_backend($1)', [pid])
  // Outside a transaction the outcome would be unknown, and so the job.
  await untilRunning(bundle, job_id)
  assert.equal((await api.cancel(job_id)).status, 'cancelled')
  assert.equal((await user.sql('select from ledger')).rowCount, 0)
})

test('deleting a member ends its running jobs within seconds, and its role stays deleted', async (t) => {
  const bundle = await setup(t, options)
  const { admin, createOrganization, createUser, service } = bundle
  const { name } = await createOrganization()
  const member = await createUser({ organization: name })
  await runJob(jobApi(member), 'create table held ()')
  // If it ran again it would block the deletion.
  const { job_id } = await jobApi(member).submit(`lock table held; ${endless}`)
  await untilRunning(bundle, job_id)
  const began = performance.now()
  await deleteUser(service.services.installation, member.username)
  assert.ok(performance.now() - began < 10_000)
  const { rowCount } = await admin('select from pg_roles where rolname ~ $1', [
    `^${member.account.masterRole}`,
  ])
  assert.equal(rowCount, 0)
})
