import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { keysClient, roleOf } from '../support/keys/keys-client.ts'
import { copyfrom, createTable } from '../support/postgres/copying.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const functions = [
  'pg_locks',
  'pg_stat_activity',
  'pg_stat_progress_analyze',
  'pg_stat_progress_cluster',
  'pg_stat_progress_copy',
  'pg_stat_progress_create_index',
  'pg_stat_progress_vacuum',
]

test('the master key sees the statement, the locks and the copy of its own sessions', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { pids, end } = await busy(t, context, user, 'mine')
  const rowsOf = async (sql: string) => (await ask(user, sql)).body.rows
  const activity = await rowsOf('select pid, query from pg_stat_activity()')
  for (const pid of pids) assert.ok(activity.some((row) => row.pid === pid))
  assert.ok(activity.some(({ query }) => String(query).includes('/* secret of mine */')))
  const locks = await rowsOf(`select mode from pg_locks() where relation = 'held'::regclass`)
  assert.deepEqual(locks, [{ mode: 'AccessExclusiveLock' }])
  const copies = await rowsOf('select command, tuples_processed from pg_stat_progress_copy()')
  assert.equal(copies[0]?.command, 'COPY FROM')
  const view = await context.admin('select * from pg_catalog.pg_stat_activity', [], user.account.database)
  const columns = (await ask(user, 'select * from pg_stat_activity() limit 1')).body.fields
  assert.deepEqual(
    Object.keys(columns),
    view.fields.map(({ name }) => name),
  )
  await end()
})

test('the refusal of a view of all sessions says how callers see their own', async (t) => {
  const { user } = await setup(t)
  for (const [view, own] of [
    ['pg_locks', /pg_locks\(\)/],
    ['pg_stat_progress_copy', /pg_stat_progress_create_index\(\)/],
  ] as const) {
    const url = `${user.base}/api/v2/sql?${new URLSearchParams({ q: `select * from ${view}`, api_key: user.masterToken })}`
    const answer = await fetch(url)
    const { hint } = (await answer.json()) as { hint: string }
    assert.equal(answer.status, 403)
    assert.match(hint, own)
  }
})

test('no account sees a session, a text or a lock of another, in its database or another one', async (t) => {
  const context = await setup(t)
  const { name: organization, owner } = await context.createOrganization()
  const member = await context.createUser({ organization })
  const accounts = [context.user, await context.createUser(), owner, member]
  const works = await Promise.all(accounts.map((user, place) => busy(t, context, user, `account ${place}`)))
  const sessions = works.map(({ pids }) => pids)
  for (const [place, user] of accounts.entries()) {
    const own = sessions[place]!
    const others = sessions.filter((_, at) => at !== place).flat()
    for (const name of functions) {
      const { status, text, body } = await ask(user, `select * from ${name}()`)
      assert.equal(status, 200, text)
      const seen = body.rows.map(({ pid }) => pid as number)
      assert.deepEqual(
        seen.filter((pid) => others.includes(pid)),
        [],
        `${name} of account ${place}`,
      )
      for (const at of accounts.keys())
        assert.equal(text.includes(`secret of account ${at}`), name === 'pg_stat_activity' && at === place)
      if (name === 'pg_locks') assert.ok(own.some((pid) => seen.includes(pid)))
      const { rows } = await context.admin(
        'select distinct usename from pg_stat_activity where pid = any ($1) and usename is not null',
        [seen],
      )
      for (const { usename } of rows) assert.ok(String(usename).startsWith(user.account.masterRole), usename)
    }
  }
  await Promise.all(works.map(({ end }) => end()))
})

test('other keys and callers without one are refused, whatever role they take', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { token } = await keysClient(user).make('k')
  for (const api_key of [token, 'default_public', '']) {
    for (const name of functions) {
      const { status, body } = await ask(user, `select * from ${name}()`, { api_key })
      assert.deepEqual([status, body.code], [403, 'database'], name)
    }
  }
  const session = await jobSession(t, context, user, {
    role: await roleOf(context, user, 'k'),
    searchPath: 'cartodb',
  })
  await assert.rejects(session.query('select * from pg_locks()'), { code: '42501' })
  await assert.rejects(ask(user, 'select cartage.own_pids()').then(({ status }) => assert.equal(status, 200)))
})

test('a loop over the locks is slowed down, so that it does not stop the server', async (t) => {
  const { user } = await setup(t)
  const loop = 'do $$ begin for turn in 1..50 loop perform count(*) from pg_locks(); end loop; end $$'
  const { status, body } = await ask(user, loop)
  assert.equal(status, 200)
  assert.ok(body.time >= 0.5, `${body.time} s`)
})

/**
 * Sessions of a user that run a statement, hold a lock and wait for rows until the test ends. Call `end` before the
 * accounts are deleted: PostgreSQL drops no database until a COPY gets rows or ends.
 */
async function busy(
  t: TestContext,
  context: Setup,
  user: TestUser,
  name: string,
): Promise<Readonly<{ pids: number[]; end: () => Promise<unknown> }>> {
  const { schema } = user.account
  await createTable(user)
  await ask(user, 'create table held (n int)')
  const locking = await jobSession(t, context, user, {
    searchPath: schema === 'public' ? 'public' : `"${schema}"`,
  })
  await locking.query(`begin; lock table held in access exclusive mode /* secret of ${name} */`)
  const body = new PassThrough()
  body.write('1,a\n')
  const copied = copyfrom(user, 'copy t from stdin with (format csv)', body)
  const end = () => {
    body.end()
    return copied
  }
  const copying = await eventually(async () => {
    const { rows } = await context.admin(
      `select p.pid from pg_stat_progress_copy p join pg_stat_activity a using (pid) where a.usename = $1`,
      [user.account.masterRole],
    )
    assert.equal(rows.length, 1)
    return rows[0]!.pid as number
  })
  return { pids: [locking.processId, copying], end }
}
