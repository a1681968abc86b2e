import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { jobSession } from '../support/jobs/job-session.ts'
import { keysClient, roleOf } from '../support/keys/keys-client.ts'
import { copyfrom, createTable } from '../support/postgres/copying.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('no view or function of PostgreSQL tells a caller of the sessions of others', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await keysClient(user).make('k')
  const pids = await copying(t, context, user)
  const sources = await sourcesOfNews(context, user)
  const tellersTo = async (role: string) => {
    const session = await jobSession(t, context, user, { role })
    return askEach(sources, (text) => session.query<News>(text), pids)
  }

  const known = sources.filter(({ name }) =>
    /^pg_(locks|lock_status|stat_activity|stat_progress_copy)$/.test(name),
  )
  const toAdmin = await askEach(known, (text) => admin(text, [], user.account.database), pids)
  assert.deepEqual(toAdmin, ['pg_lock_status', 'pg_locks', 'pg_stat_activity', 'pg_stat_progress_copy'])
  const { masterRole, publicRole } = user.account
  for (const role of [publicRole, await roleOf(context, user, 'k')])
    assert.deepEqual(await tellersTo(role), [], role)
  const toMaster = await tellersTo(masterRole)
  assert.deepEqual(
    toMaster.filter((name) => !/^pg_stat_(activity|ssl|gssapi|get_activity)$/.test(name)),
    [],
  )
})

test('a stranger is refused what tells of locks, copies and the databases of others', async (t) => {
  const { user } = await setup(t)
  for (const q of [
    'select * from pg_locks',
    'select * from pg_stat_progress_copy',
    'select * from pg_stat_progress_create_index',
    'select * from pg_stat_database',
    'select * from pg_stat_replication',
    'select * from pg_prepared_xacts',
    'select pg_blocking_pids(1)',
    'select pg_safe_snapshot_blocking_pids(1)',
  ]) {
    const response = await fetch(`${user.base}/api/v2/sql?${new URLSearchParams({ q })}`)
    assert.equal(response.status, 403, `${q}: ${await response.text()}`)
  }
})

/** Two copies that go on until the test ends; answers the pids of their backends. */
async function copying(t: TestContext, { admin }: Setup, user: TestUser): Promise<number[]> {
  await createTable(user)
  for (const line of ['1,a\n', '2,b\n']) {
    const body = new PassThrough()
    body.write(line)
    const copied = copyfrom(user, 'copy t from stdin with (format csv)', body)
    t.after(async () => {
      body.end()
      await copied
    })
  }
  return eventually(async () => {
    const { rows } = await admin('select pid from pg_stat_progress_copy where datname = $1', [
      user.account.database,
    ])
    assert.equal(rows.length, 2)
    return rows.map((row) => row.pid as number)
  })
}

type News = { told: string | null }
type Source = Readonly<{ name: string; from: string }>

/** Every view, and every function that needs no more than a text or a number. */
async function sourcesOfNews({ admin }: Setup, user: TestUser): Promise<Source[]> {
  const { rows } = await admin(
    `select relname as name, oid::regclass::text as from from pg_class
     where relkind = 'v' and relnamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
     union all
     select proname, format('pg_catalog.%I(%s)', proname, case proargtypes[0] when 'text'::regtype then '''COPY''' when 'int4'::regtype then 'null' end)
     from pg_proc join pg_type on pg_type.oid = prorettype
     where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
       and (typtype <> 'p' or typname = 'record') and proname !~ '^(pg_sleep|pg_terminate|pg_cancel|pg_rotate|pg_reload)'
       and (pronargs = 0 or pronargs = 1 and proargtypes[0] in ('text'::regtype, 'int4'::regtype))
       -- What only an administrator may call can do anything.
       and (has_function_privilege('public', pg_proc.oid, 'execute') or proname ~ '^pg_(lock_status|stat_get_|blocking)')
     order by 1`,
    [],
    user.account.database,
  )
  return rows
}

/** The names of those who tell both pids. */
async function askEach(
  sources: readonly Source[],
  ask: (text: string) => Promise<{ rows: News[] }>,
  pids: readonly number[],
): Promise<string[]> {
  const tellers = new Set<string>()
  for (const { name, from } of sources) {
    const text = `select string_agg(news::text, ' ') as told from ${from} news`
    const told = await ask(text).then(
      ({ rows }) => rows[0]?.told ?? '',
      () => '',
    )
    if (pids.every((pid) => new RegExp(`(?<![\\d.])${pid}(?![\\d.])`).test(told))) tellers.add(name)
  }
  return [...tellers]
}
