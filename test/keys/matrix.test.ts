import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keysClient, roleOf, send } from '../support/keys/keys-client.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const permissions = ['select', 'insert', 'update', 'delete'] as const
type Permission = (typeof permissions)[number]

/** All sixteen sets of permissions. */
const subsets: readonly (readonly Permission[])[] = Array.from({ length: 16 }, (_, bits) =>
  permissions.filter((_permission, index) => bits & (1 << index)),
)

type Kind = Readonly<{
  schema: string
  name: string
  /** Rows can be written if the grants allow it. */
  isWritable: boolean
  sequence?: string
}>

const kinds: Readonly<Record<string, Kind>> = {
  table: { schema: 'public', name: 'plain', isWritable: true, sequence: 'public.plain_id_seq' },
  'table with a strange name': { schema: 'public', name: 'Sträng."e".table', isWritable: true },
  'table in another schema': {
    schema: 'My Schema',
    name: 'T',
    isWritable: true,
    sequence: '"My Schema"."T_id_seq"',
  },
  'partitioned table': { schema: 'public', name: 'whole', isWritable: true, sequence: 'public.whole_id_seq' },
  partition: { schema: 'public', name: 'part', isWritable: true },
  'table that a key made': {
    schema: 'public',
    name: 'made',
    isWritable: true,
    sequence: 'public.made_id_seq',
  },
  view: { schema: 'public', name: 'seen', isWritable: true, sequence: 'public.base_id_seq' },
  'view with security_invoker': { schema: 'public', name: 'asked', isWritable: true },
  'materialized view': { schema: 'public', name: 'kept', isWritable: false },
}

const preparation = `
  create table plain (id serial, v text); insert into plain (v) values ('a');
  create table "Sträng.""e"".table" (id int generated always as identity, v text);
  create schema "My Schema"; create table "My Schema"."T" (id serial, v text);
  create table whole (id serial, v text) partition by list (v);
  create table part partition of whole default;
  create table base (id serial, v text); create view seen as select * from base;
  create table under (id int default 1, v text); create view asked with (security_invoker) as select * from under;
  create materialized view kept as select 1 as id, 'a'::text as v;
  create table secret (id int, v text);`

type Statement = Readonly<{
  text: (table: string, kind: Kind) => string
  needs: readonly Permission[]
  writes?: boolean
}>

const statements: Readonly<Record<string, Statement>> = {
  select: { text: (t) => `select * from ${t}`, needs: ['select'] },
  'select of a column': { text: (t) => `select v from ${t} where id = 1`, needs: ['select'] },
  'count in a subquery': { text: (t) => `select (select count(*) from ${t})`, needs: ['select'] },
  'copy out': { text: (t) => `copy (select * from ${t}) to stdout`, needs: ['select'] },
  insert: { text: (t) => `insert into ${t} (v) values ('b')`, needs: ['insert'], writes: true },
  'insert returning': {
    text: (t) => `insert into ${t} (v) values ('b') returning v`,
    needs: ['insert', 'select'],
    writes: true,
  },
  update: { text: (t) => `update ${t} set v = 'c'`, needs: ['update'], writes: true },
  'update where': {
    text: (t) => `update ${t} set v = 'c' where v = 'a'`,
    needs: ['update', 'select'],
    writes: true,
  },
  delete: { text: (t) => `delete from ${t}`, needs: ['delete'], writes: true },
  'delete where': {
    text: (t) => `delete from ${t} where v = 'a'`,
    needs: ['delete', 'select'],
    writes: true,
  },
  'insert in a with': {
    text: (t) => `with w as (insert into ${t} (v) values ('d') returning 1) select 1`,
    needs: ['insert'],
    writes: true,
  },
}

/** Statements that no grant ever allows. */
const forOwners: readonly ((table: string) => string)[] = [
  (t) => `alter table ${t} rename to stolen`,
  (t) => `alter table ${t} owner to current_user`,
]

const quoted = ({ schema, name }: Kind) => `"${schema}"."${name.replaceAll('"', '""')}"`

/** Creates keys with each set of permissions on each kind of table. */
async function keysForAll(context: Setup, user: TestUser) {
  await user.sql(preparation)
  await keysClient(user).make('maker', [
    { type: 'apis', apis: [] },
    { type: 'database', schemas: [{ name: 'public', permissions: ['create'] }] },
  ])
  await user.sql('create table made (id serial, v text)', [], await roleOf(context, user, 'maker'))
  const keys = []
  for (const held of subsets) {
    const name = `may ${held.join()}`
    const tables = [...Object.values(kinds), { schema: 'public', name: 'under' }].map((kind) => ({
      schema: kind.schema,
      name: kind.name,
      permissions: held,
    }))
    const { token } = await keysClient(user).make(name, [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables },
    ])
    keys.push({ name, held, token, role: await roleOf(context, user, name) })
  }
  return keys
}

test('PostgreSQL allows a key what its grants say and nothing else, on every kind of table', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { query } = context.service.services.databases
  const failures: string[] = []
  let cases = 0
  for (const { held, role } of await keysForAll(context, user)) {
    const target = {
      hostId: user.account.hostId,
      database: user.account.database,
      role,
      searchPath: 'public',
    }
    const session = await query.acquire(target)
    const outcome = async (text: string) => {
      await session.query('begin')
      const code = await session.query(text).then(
        () => 'allowed',
        (error: { code: string }) => (error.code === '42501' ? 'denied' : error.code),
      )
      await session.query('rollback')
      return code
    }
    const expect = async (what: string, text: string, expected: string) => {
      cases += 1
      const actual = await outcome(text)
      if (actual !== expected) failures.push(`[${held}] ${what}: ${actual}, not ${expected} (${text})`)
    }
    for (const [kindName, kind] of Object.entries(kinds)) {
      const table = quoted(kind)
      for (const [name, { text, needs, writes }] of Object.entries(statements)) {
        const isAllowed = needs.every((need) => held.includes(need))
        const expected = !isAllowed ? 'denied' : writes && !kind.isWritable ? '42809' : 'allowed'
        await expect(`${name} on ${kindName}`, text(table, kind), expected)
      }
      for (const text of forOwners) await expect(`an owner's act on ${kindName}`, text(table), 'denied')
      if (kind.sequence) {
        const expected = held.includes('insert') ? 'allowed' : 'denied'
        await expect(`nextval of ${kindName}`, `select nextval('${kind.sequence}')`, expected)
      }
    }
    await expect('a table that was not granted', 'select * from secret', 'denied')
    await expect('a table in a schema without create', 'create table mine (id int)', 'denied')
    session.release()
  }
  assert.ok(cases > 1_000, `${cases} cases`)
  assert.deepEqual(failures, [])
})

type Caller = Readonly<{
  what: string
  token: string | undefined
  type: string
  hasSql: boolean
  held: readonly Permission[]
  hasMetadata?: boolean
}>

/** One key of every type, and regular keys with every set of grants. */
async function callersOf(context: Setup, user: TestUser): Promise<Caller[]> {
  const regular = await keysForAll(context, user)
  await user.sql(`create table open (id serial, v text); insert into open (v) values ('a');
    grant select on open to "${user.account.publicRole}"`)
  const table = { schema: 'public', name: 'plain', permissions }
  const mapsOnly = await keysClient(user).make('maps', [
    { type: 'apis', apis: ['maps'] },
    { type: 'database', tables: [table] },
  ])
  const nothing = await keysClient(user).make('nothing', [{ type: 'apis', apis: [] }])
  const metadata = await keysClient(user).make('metadata', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', table_metadata: [] },
  ])
  return [
    {
      what: 'master',
      token: user.masterToken,
      type: 'master',
      hasSql: true,
      held: permissions,
      hasMetadata: true,
    },
    { what: 'default', token: 'default_public', type: 'default', hasSql: true, held: [] },
    { what: 'nobody', token: undefined, type: 'none', hasSql: true, held: [] },
    ...regular.map(({ name, token, held }) => ({ what: name, token, type: 'regular', hasSql: true, held })),
    { what: 'maps only', token: mapsOnly.token, type: 'regular', hasSql: false, held: permissions },
    { what: 'no api', token: nothing.token, type: 'regular', hasSql: false, held: [] },
    { what: 'metadata', token: metadata.token, type: 'regular', hasSql: true, held: [], hasMetadata: true },
  ]
}

const sql = (q: string, body?: string) => ({ path: '/api/v2/sql', q, body })
const requests: [
  what: string,
  request: { path: string; q?: string; body?: string | undefined; method?: string },
  needs: readonly Permission[] | 'public',
][] = [
  ['read', sql('select * from plain'), ['select']],
  ['write', sql("insert into plain (v) values ('x')"), ['insert']],
  ['change', sql("update plain set v = 'y'"), ['update']],
  ['remove', sql('delete from plain'), ['delete']],
  ['read what is public', sql('select * from open'), 'public'],
  ['write what is public', sql("insert into open (v) values ('x')"), []],
  ['copy out', { path: '/api/v2/sql/copyto', q: 'copy plain to stdout' }, ['select']],
  ['copy out what is public', { path: '/api/v2/sql/copyto', q: 'copy open to stdout' }, 'public'],
  [
    'copy in',
    { path: '/api/v2/sql/copyfrom', q: 'copy plain (v) from stdin', body: 'x\n', method: 'POST' },
    ['insert'],
  ],
]

/** What a caller may do at the endpoints that take no statement. */
function withoutStatement({ type, hasMetadata }: Caller) {
  const isMaster = type === 'master'
  const forMaster = isMaster ? 200 : type === 'none' ? 401 : 403
  return [
    ['list keys', '/api/v3/api_keys', 'GET', forMaster],
    ['read a key', '/api/v3/api_keys/maps', 'GET', forMaster],
    ['create a key', '/api/v3/api_keys', 'POST', isMaster ? 422 : forMaster],
    ['queue a job', '/api/v2/sql/job', 'POST', isMaster ? 400 : 403],
    ['list datasets', '/api/v4/datasets', 'GET', hasMetadata ? 200 : 403],
  ] as const
}

test('every endpoint allows a key what its type, its APIs and its grants say', async (t) => {
  const context = await setup(t)
  const { user } = context
  const callers = await callersOf(context, user)
  const failures: string[] = []
  let cases = 0
  const expect = async (
    caller: Caller,
    what: string,
    address: string,
    method: string,
    body: string | undefined,
    expected: number,
  ) => {
    cases += 1
    const url = `${user.base}${address}${address.includes('?') ? '&' : '?'}${caller.token ? `api_key=${caller.token}` : ''}`
    const response = await fetch(url, { method, ...(body !== undefined && { body }) })
    const text = await response.text()
    if (response.status !== expected)
      failures.push(`${caller.what}: ${what}: ${response.status}, not ${expected}: ${text.slice(0, 200)}`)
  }
  for (const caller of callers) {
    for (const [what, { path, q, body, method }, needs] of requests) {
      const owns = caller.type === 'master'
      // A table without a write grant can only be changed by its owner, the user.
      const allowed =
        needs === 'public' || owns || (needs.length > 0 && needs.every((need) => caller.held.includes(need)))
      const expected = caller.hasSql && allowed ? 200 : 403
      await expect(caller, what, `${path}?${new URLSearchParams({ q: q! })}`, method ?? 'GET', body, expected)
    }
    for (const [what, address, method, expected] of withoutStatement(caller))
      await expect(caller, what, address, method, undefined, expected)
  }
  assert.ok(cases > 300, `${cases} cases`)
  assert.deepEqual(failures, [])
})

test('the document of every key in the matrix shows its grants', async (t) => {
  const context = await setup(t)
  const { user } = context
  for (const { name, held } of await keysForAll(context, user)) {
    const { body } = await send(
      `${user.base}/api/v3/api_keys/${encodeURIComponent(name)}?api_key=${user.masterToken}`,
    )
    const { tables } = body.grants.find((section) => section.type === 'database')!
    const expected = held.length === 0 ? [] : Object.values(kinds).map((kind) => kind.name)
    assert.deepEqual(
      new Set(tables!.map((table) => table.name).filter((table) => table !== 'under')),
      new Set(expected),
    )
    for (const table of tables!) assert.deepEqual(table.permissions, [...held].sort())
  }
})
