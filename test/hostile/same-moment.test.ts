import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { send } from '../support/postgres/copying.ts'
import { openSession } from '../support/postgres/tenant-session.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('two concurrent CREATE statements of one name: the second is told that it exists already', async (t) => {
  const house = await setup(t)
  const { user } = house
  const made = {
    'create table t (n int)': ['42P07', 'relation or type "t" already exists'],
    'create view "a, view" as select 1 as n': ['42P07', 'relation or type "a, view" already exists'],
    'create sequence s': ['42P07', 'relation "s" already exists'],
    "create type mood as enum ('sad')": ['42P07', 'relation or type "mood" already exists'],
    'create function f(a int, b text) returns int language sql as $$ select 1 $$': [
      '42723',
      'function "f" already exists with same argument types',
    ],
  }
  const session = await openSession(t, house, user)
  for (const [statement, [sqlstate, message]] of Object.entries(made)) {
    const second = await meanwhile(house, user, session, statement, () => ask(user, statement))
    assert.equal(second.status, 400, statement)
    const { error, detail, sqlstate: state, hint } = second.body as typeof second.body & { sqlstate?: string }
    assert.deepEqual([state, error], [sqlstate, [message]], statement)
    assert.match(detail ?? '', /^Another statement created or changed the same object/)
    assert.equal(hint, undefined)
  }
})

test('two concurrent uploads or jobs that create one table: the second is told that it exists already', async (t) => {
  const house = await setup(t, { worker: true })
  const { user } = house
  const session = await openSession(t, house, user)
  const sql = 'CREATE TABLE t (n int); COPY t FROM STDIN;'
  const url = `${user.base}/api/v2/sql/copyfrom?api_key=${user.masterToken}&sql_bytes=${sql.length}`
  const upload = () => send(url, { method: 'POST' }, `${sql}1\n`)
  const { status, body } = await meanwhile(house, user, session, 'create table t (n int)', upload)
  assert.deepEqual([status, body.sqlstate], [400, '42P07'], JSON.stringify(body))

  const create = 'create table by_job (n int)'
  const job = await meanwhile(house, user, session, create, () => runJob(jobApi(user), create))
  assert.deepEqual(
    [job.status, job.failed_reason, job.failed_sqlstate],
    ['failed', 'relation or type "by_job" already exists', '42P07'],
  )
})

test("a tenant's unique constraint is reported in PostgreSQL's words, whatever its name", async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (n int constraint pg_class_relname_nsp_index unique)')
  await user.sql('insert into t values (1)')
  const { body } = await ask(user, 'insert into t values (1)')
  assert.deepEqual(body.error, [
    'duplicate key value violates unique constraint "pg_class_relname_nsp_index"',
  ])
  for (const index of ['constructor', '__proto__', 'pg_type_typname_nsp_index']) {
    const pretended = `do $$ begin
      raise unique_violation using schema = 'pg_catalog', constraint = '${index}', message = 'mine';
    end $$`
    assert.deepEqual((await ask(user, pretended)).body.error, ['mine'])
  }
})

/** The outcome of `second` when it waits for a transaction that runs the statement and commits. */
async function meanwhile<T>(
  { admin }: Setup,
  { account }: TestUser,
  session: Awaited<ReturnType<typeof openSession>>,
  statement: string,
  second: () => Promise<T>,
): Promise<T> {
  await session.query('begin')
  await session.query(statement)
  const answered = second()
  await eventually(async () => {
    const { rowCount } = await admin(
      "select from pg_stat_activity where datname = $1 and wait_event = 'transactionid'",
      [account.database],
    )
    assert.equal(rowCount, 1)
  })
  await session.query('commit')
  return answered
}
