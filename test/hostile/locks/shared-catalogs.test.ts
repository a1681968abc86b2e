import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doctor } from '../../../src/doctor/doctor.ts'
import { grantsOf, keysClient, roleOf } from '../../support/keys/keys-client.ts'
import { eventually, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

/** No connection is kept, so every request logs in. */
const config = { connectionIdleMs: 0 }

test('a role with a setting of its own in any database can still log in, and the setting is removed', async (t) => {
  const house = await setup(t, { config })
  const { user, createUser, service } = house
  const { masterRole, publicRole, database } = user.account
  const other = (await createUser()).account.database
  // Databases of other tests may vanish meanwhile.
  const databases = [database, other, service.services.config.namespace, 'postgres', 'template1']
  for (const role of [publicRole, masterRole]) {
    for (const name of databases) {
      await user.sql(`alter role current_user in database "${name}" set work_mem = '4MB'`, [], role)
    }
    const key = role === masterRole ? user.masterToken : undefined
    const { status, value } = await ask(user, 'select 1 as value', key)
    assert.deepEqual([status, value], [200, 1], role)
    assert.deepEqual(await settingsOf(house, role), [])
  }
})

const megabyte = `(select string_agg(md5(n::text || clock_timestamp()::text), '') from generate_series(1, 33000) n)`

const writers: Readonly<Record<string, string>> = {
  'settings, one after the other': `do $$ begin for i in 1 .. 1000 loop
    execute format('alter role current_user set application_name = %L', ${megabyte}); commit; end loop; end $$`,
  'settings, in a transaction that does not end': `do $$ begin for i in 1 .. 1000 loop
    execute format('alter role current_user set application_name = %L', ${megabyte}); end loop; end $$; select pg_sleep(60)`,
  'settings of other databases': `do $$ begin
    execute format('alter role current_user in database postgres set application_name = %L', ${megabyte}); end $$; commit; select pg_sleep(60)`,
  'a password': `do $$ begin execute format('alter role current_user password %L', 'SCRAM-SHA-256$1:' ||
    translate(encode(${megabyte}::bytea, 'base64'), e'\\n', '') || '$' || encode(sha256('a'), 'base64') || ':' || encode(sha256('b'), 'base64')); end $$;
    commit; select pg_sleep(60)`,
}

for (const [what, statement] of Object.entries(writers)) {
  test(`a key that fills a shared catalog with ${what} is ended and must wait, and the catalog stays small`, async (t) => {
    const house = await setup(t)
    const { user, createUser } = house
    const { token } = await keysClient(user).make('k', grantsOf())
    const role = await roleOf(house, user, 'k')
    const ended = await ask(user, statement, token)
    assert.deepEqual([ended.status, ended.code], [403, 'settings-too-large'], ended.text)
    const again = await ask(user, 'select 1 as value', token)
    assert.deepEqual([again.status, again.code], [503, 'role-paused'])
    const other = await createUser()
    for (const someone of [user, other]) {
      assert.equal((await ask(someone, 'select 1 as value', someone.masterToken)).value, 1)
    }
    await eventually(async () => {
      assert.deepEqual(await settingsOf(house, role), [])
      assert.ok((await catalogBytes(house)) < 24 * 1024 ** 2, `${await catalogBytes(house)} bytes`)
    })
  })
}

test('a table whose index sleeps under autovacuum loses its worker, and the doctor names it', async (t) => {
  const house = await setup(t, { config: { autovacuumTableMs: 1_000 } })
  const { user, admin, service } = house
  const { installation, config } = service.services
  await admin('alter system set autovacuum_naptime = 1')
  await admin('select pg_reload_conf()')
  t.after(async () => {
    await admin('alter system reset autovacuum_naptime')
    await admin('select pg_reload_conf()')
  })
  await user.sql(`
    create function slow (a int) returns int language plpgsql immutable as $$ begin
      if current_setting('application_name') not like 'test%' then perform pg_sleep(600); end if; return a; end $$;
    set application_name = 'test'; create table sleeper (a int); create index on sleeper (slow(a));
    alter table sleeper set (autovacuum_analyze_threshold = 1, autovacuum_vacuum_insert_threshold = -1);
    insert into sleeper select generate_series(1, 1000)`)
  const options = `select reloptions::text as options from pg_class where relname = 'sleeper'`
  await eventually(async () => {
    assert.match((await user.sql(options)).rows[0].options, /autovacuum_enabled=off/)
  }, 60_000)
  await eventually(async () => {
    const check = (await doctor(installation, config)).find(({ name }) => name === 'autovacuum')
    assert.match(
      `${check!.status}: ${check!.advice}`,
      new RegExp(`^warn: .*${user.username}: "?public"?."?sleeper`),
    )
  })
  const { rows } = await admin(
    `select from pg_stat_activity where datname = $1 and backend_type = 'autovacuum worker'`,
    [user.account.database],
  )
  assert.deepEqual(rows, [])
})

async function catalogBytes({ admin }: Setup): Promise<number> {
  const { rows } = await admin(
    `select pg_total_relation_size('pg_db_role_setting') + pg_total_relation_size('pg_authid') as bytes`,
  )
  return Number(rows[0].bytes)
}

async function ask(user: TestUser, q: string, key?: string): Promise<Answer> {
  const body = new URLSearchParams({ q, ...(key && { api_key: key }) })
  const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body })
  const text = await response.text()
  const answer = JSON.parse(text) as { rows?: { value: unknown }[]; code?: string }
  return {
    status: response.status,
    value: answer.rows?.[0]?.value,
    code: answer.code,
    text: text.slice(0, 500),
  }
}

type Answer = Readonly<{ status: number; value: unknown; code: string | undefined; text: string }>

async function settingsOf({ admin }: Setup, role: string): Promise<unknown[]> {
  const { rows } = await admin(
    'select setconfig from pg_db_role_setting join pg_roles on pg_roles.oid = setrole where rolname = $1',
    [role],
  )
  return rows
}
