import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { jobSession } from '../support/jobs/job-session.ts'
import { keysClient, roleOf } from '../support/keys/keys-client.ts'
import { copyfrom, createTable } from '../support/postgres/copying.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('no view or function of PostgreSQL shows a caller the sessions of others', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await keysClient(user).make('k')
  const pids = await copying(t, context, user)
  const sources = await sourcesOfNews(context, user)
  const { masterRole, publicRole } = user.account
  const roles = [publicRole, await roleOf(context, user, 'k'), masterRole]
  const callers: Caller[] = [{ role: 'admin', ask: (text) => admin(text, [], user.account.database) }]
  for (const role of roles) {
    const session = await jobSession(t, context, user, { role })
    callers.push({ role, ask: (text) => session.query<News>(text) })
  }

  const told = new Map<Caller, readonly Source[]>()
  for (const caller of callers)
    told.set(caller, await tellers(caller, caller.role === 'admin' ? sources.filter(isKnown) : sources, pids))
  await endSessions(context, pids)
  const tellersTo = async (role: string) => {
    const [caller, during] = [...told].find(([each]) => each.role === role)!
    // A number also found without the sessions is an OID or a count that equals a pid by chance.
    const after = await tellers(caller, during, pids)
    return during.filter((source) => !after.includes(source)).map(({ name }) => name)
  }
  assert.deepEqual(await tellersTo('admin'), [
    'pg_lock_status',
    'pg_locks',
    'pg_stat_activity',
    'pg_stat_progress_copy',
  ])
  for (const role of roles.slice(0, 2)) assert.deepEqual(await tellersTo(role), [], role)
  const toMaster = await tellersTo(masterRole)
  assert.deepEqual(
    toMaster.filter((name) => !/^pg_stat_(activity|ssl|gssapi|get_activity)$/.test(name)),
    [],
  )
})

test('a stranger cannot read locks, copies and databases of others', async (t) => {
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

/** Two copies that run until their sessions end; returns the pids of their backends. */
async function copying(t: TestContext, { admin }: Setup, user: TestUser): Promise<number[]> {
  await createTable(user)
  for (const line of ['1,a\n', '2,b\n']) {
    const body = new PassThrough()
    body.write(line)
    const copied = copyfrom(user, 'copy t from stdin with (format csv)', body).catch(() => undefined)
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

async function endSessions({ admin }: Setup, pids: readonly number[]): Promise<void> {
  await admin('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [pids])
  await eventually(async () => {
    const { rowCount } = await admin('select from pg_stat_activity where pid = any($1)', [pids])
    assert.equal(rowCount, 0)
  })
}

type News = { told: string | null }
type Source = Readonly<{ name: string; from: string }>
type Caller = Readonly<{ role: string; ask: (text: string) => Promise<{ rows: News[] }> }>

const isKnown = ({ name }: Source) => /^pg_(locks|lock_status|stat_activity|stat_progress_copy)$/.test(name)

/** Every view, and every function that needs only a text or a number. */
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

/** The sources that show both pids. */
async function tellers({ ask }: Caller, sources: readonly Source[], pids: readonly number[]) {
  const found: Source[] = []
  for (const source of sources) {
    const text = `select string_agg(news::text, ' ') as told from ${source.from} news`
    const told = await ask(text).then(
      ({ rows }) => rows[0]?.told ?? '',
      () => '',
    )
    if (pids.every((pid) => new RegExp(`(?<![\\d.])${pid}(?![\\d.])`).test(told))) found.push(source)
  }
  return found
}
