import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { keysClient, roleOf } from '../support/keys/keys-client.ts'
import { openSession } from '../support/postgres/tenant-session.ts'
import { eventually, randomName, type Setup, setup, type TestUser } from '../support/service/setup.ts'

/** No connection is kept, so every request logs in. */
const config = { connectionIdleMs: 0 }

const settings: readonly (readonly [name: string, value: string])[] = [
  ['idle_session_timeout', `'1ms'`],
  ['transform_null_equals', 'on'],
  ['work_mem', `'64kB'`],
  ['enable_seqscan', 'off'],
  ['gin_fuzzy_search_limit', '1'],
  ['exit_on_error', 'on'],
  ['jit_above_cost', '0'],
  // A setting of an extension, unknown to a session before the extension is loaded.
  ['plpgsql.check_asserts', 'off'],
  ['statement_timeout', '1'],
  ['local_preload_libraries', `'no_such_library'`],
  ['default_tablespace', `'no_such_space'`],
]

for (const [name, value] of settings) {
  test(`a caller who sets ${name} for its role changes nothing for others with the same key`, async (t) => {
    const house = await setup(t, { config })
    const { user } = house
    const { key, role } = await makeKey(house)
    const usual = (await ask(user, readSetting(name), key)).value
    for (const place of ['', `in database "${user.account.database}"`]) {
      const text = `do $$ begin end $$; alter role current_user ${place} set ${name} = ${value}`
      assert.equal((await ask(user, text, key)).status, 200)
      await everyoneIsServed(user, readSetting(name), usual, key)
      assert.deepEqual(await leftBehind(house, role), [])
    }
  })
}

test("a caller without a key who sets the seed of random() does not affect the next caller's numbers", async (t) => {
  const { user } = await setup(t, { config: { connectionsPerRole: 1 } })
  const ways = ['select setseed(0.42)', "select set_config('se' || 'ed', '0.42', false)"]
  const open = ways.map((way) => `begin; ${way}; commit`)
  const numbers = new Set<unknown>()
  for (const way of [...ways, ...open]) {
    assert.equal((await ask(user, way)).status, 200)
    numbers.add((await ask(user, 'select random() as value')).value)
  }
  assert.equal(numbers.size, ways.length + open.length)
})

test('a role that changed its password can log in again, also with many concurrent requests', async (t) => {
  const house = await setup(t, { config })
  const { user } = house
  const { key } = await makeKey(house)
  for (const round of [1, 2, 3]) {
    assert.equal((await ask(user, `alter role current_user password 'round ${round}'`, key)).status, 200)
    await everyoneIsServed(user, `select 'in' as value`, 'in', key)
  }
})

test('a caller that alters its own role in an open transaction does not lock others out', async (t) => {
  const house = await setup(t, { config })
  const { user } = house
  const { key, role } = await makeKey(house)
  const holding = ask(
    user,
    `begin; alter role current_user set work_mem = '64kB'; alter role current_user password 'x'; commit;
     begin; alter role current_user set work_mem = '65kB'; alter role current_user password 'y'; select pg_sleep(20)`,
    key,
  )
  await eventually(async () => assert.notEqual((await holdersOf(house, role)).length, 0))
  await everyoneIsServed(user, `select current_setting('work_mem') as value`, '4MB', key)
  assert.equal((await holding).status, 503, 'its session was ended')
})

test("repairing a caller's login ends no session of another account or of other users of the server", async (t) => {
  const house = await setup(t, { config })
  const { user, createUser } = house
  const { key } = await makeKey(house)
  const stranger = await openSession(t, house, await createUser())
  await stranger.query(
    `begin; alter role current_user set work_mem = '65kB'; alter role current_user password 'y'`,
  )
  const operator = await openOperator(t, house)
  await operator.query(`begin; create role "${randomName('never')}"`)
  for (const round of [1, 2, 3]) {
    assert.equal((await ask(user, `alter role current_user password 'round ${round}'`, key)).status, 200)
    await everyoneIsServed(user, `select 'in' as value`, 'in', key)
  }
  for (const session of [stranger, operator]) await session.query('rollback')
})

for (const [name, value, usual] of [
  ['work_mem', `'64kB'`, '4MB'],
  ['plpgsql.check_asserts', 'off', 'on'],
] as const) {
  test(`a caller that keeps setting and resetting ${name} changes no answer of others`, async (t) => {
    const house = await setup(t, { config })
    const { user } = house
    const { key } = await makeKey(house)
    const loop = ask(
      user,
      `do $$ begin
         for turn in 1 .. 2000 loop
           alter role current_user set ${name} = ${value}; commit;
           alter role current_user reset ${name}; commit;
         end loop;
       end $$`,
      key,
    )
    const answers = []
    for (let turn = 0; turn < 20; turn += 1) answers.push(await ask(user, readSetting(name), key))
    await loop
    const values = answers.filter(({ status }) => status === 200).map(({ value }) => value)
    assert.deepEqual(new Set(values), new Set([usual]))
    assert.ok(values.length > 10, `${values.length} of 20 were served`)
  })
}

test('temporary files of every tenant have a limit that no tenant can lift', async (t) => {
  const { user } = await setup(t, { config: { ...config, tempFileMaxBytes: 1024 ** 2 } })
  const large = 'select max(a) as value from (select a from generate_series(1, 500000) a order by random()) b'
  for (const key of [undefined, user.masterToken]) {
    assert.equal((await ask(user, `select current_setting('temp_file_limit') as value`, key)).value, '1MB')
    const spilled = await ask(user, large, key)
    assert.deepEqual(
      [spilled.status, spilled.error],
      [400, 'temporary file size exceeds temp_file_limit (1024kB)'],
    )
    for (const lift of [
      'set temp_file_limit = -1',
      'alter role current_user set temp_file_limit = -1',
      `alter database "${user.account.database}" reset temp_file_limit`,
      `alter database "${user.account.database}" reset all`,
    ]) {
      assert.notEqual((await ask(user, lift, key)).status, 200, lift)
    }
    const reset = await ask(user, 'alter role current_user reset all', key)
    assert.equal(reset.status, key ? 200 : 403)
    assert.equal((await ask(user, `select current_setting('temp_file_limit') as value`, key)).value, '1MB')
  }
})

/** Callers without a key may run only listed statements; requests with the same key share a role in PostgreSQL too. */
async function makeKey(house: Setup): Promise<{ key: string; role: string }> {
  const { token: key } = await keysClient(house.user).make('k')
  return { key, role: await roleOf(house, house.user, 'k') }
}

type Answer = Readonly<{ status: number; value: unknown; error: string | undefined }>

async function ask(user: TestUser, q: string, key?: string): Promise<Answer> {
  const body = new URLSearchParams({ q, ...(key && { api_key: key }) })
  const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body })
  const answer = (await response.json()) as { rows?: { value: unknown }[]; error?: string[] }
  return { status: response.status, value: answer.rows?.[0]?.value, error: answer.error?.[0] }
}

const readSetting = (name: string) => `do $$ begin end $$; select current_setting('${name}', true) as value`

/** Six at a time: as many as may log in at once. */
async function everyoneIsServed(user: TestUser, q: string, expected: unknown, key: string): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask(user, q, key)))
  assert.deepEqual(
    answers.map(({ status, value, error }) => [status, value, error]),
    answers.map(() => [200, expected, undefined]),
  )
}

async function leftBehind({ admin }: Setup, role: string): Promise<unknown[]> {
  const { rows } = await admin(
    'select s.setconfig from pg_db_role_setting s join pg_roles r on r.oid = s.setrole where r.rolname = $1',
    [role],
  )
  return rows
}

/** Another administrator of the server, with another role than the service. */
async function openOperator(t: TestContext, { admin, keys }: Setup): Promise<pg.Client> {
  const name = randomName('operator')
  await admin(`create role "${name}" superuser login password 'operator'`)
  const url = new URL(keys.adminUrl)
  Object.assign(url, { username: name, password: 'operator' })
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => undefined)
  await client.connect()
  t.after(async () => {
    await client.end()
    await admin(`drop role "${name}"`)
  })
  return client
}

async function holdersOf({ admin }: Setup, role: string): Promise<unknown[]> {
  const { rows } = await admin(
    `select from pg_locks join pg_stat_activity using (pid)
     where usename = $1 and relation = 'pg_db_role_setting'::regclass and mode = 'RowExclusiveLock'`,
    [role],
  )
  return rows
}
