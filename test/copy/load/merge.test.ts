import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../../support/keys/client-of.ts'
import { assertAtRest, copyUrl, send } from '../../support/postgres/copying.ts'
import { setup, type TestUser } from '../../support/service/setup.ts'

const load = (
  user: Pick<TestUser, 'base' | 'masterToken'>,
  q: string,
  body: string,
  options: Record<string, string>,
) => send(`${copyUrl(user, 'copyfrom', q)}&${new URLSearchParams(options)}`, { method: 'POST' }, body)

const update = { on_conflict: 'update', key: 'id' }

async function createPlaces(user: TestUser): Promise<void> {
  await user.sql(`create table places (id int primary key, name text, since date default '2020-01-01');
    insert into places values (1, 'one', '2001-01-01'), (2, 'two', '2002-02-02')`)
}

const placesOf = async (user: TestUser) =>
  (await user.sql('select id, name, since::text as since from places order by id')).rows

test('on_conflict=update inserts new rows and updates those whose key exists', async (t) => {
  const { user, ...rest } = await setup(t)
  await createPlaces(user)
  const reply = await load(user, 'COPY places (name, id) FROM STDIN CSV', 'ONE,1\nthree,3\n', update)
  assert.deepEqual({ ...reply.body, time: 0 }, { time: 0, total_rows: 2, inserted_rows: 1, updated_rows: 1 })
  assert.deepEqual(await placesOf(user), [
    { id: 1, name: 'ONE', since: '2001-01-01' },
    { id: 2, name: 'two', since: '2002-02-02' },
    { id: 3, name: 'three', since: '2020-01-01' },
  ])
  await assertAtRest({ user, ...rest }, user)
})

test('on_conflict=nothing leaves rows whose key exists as they are', async (t) => {
  const { user } = await setup(t)
  await createPlaces(user)
  const reply = await load(user, 'COPY places FROM STDIN CSV', '1,ONE,\n3,three,2003-03-03\n3,again,\n', {
    on_conflict: 'nothing',
    key: 'id',
  })
  assert.deepEqual({ ...reply.body, time: 0 }, { time: 0, total_rows: 3, inserted_rows: 1, updated_rows: 0 })
  assert.deepEqual((await placesOf(user)).at(-1), { id: 3, name: 'three', since: '2003-03-03' })
})

test('the last of several rows with one key wins, and rows without a key are all kept', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (a int, b text, n int); create unique index on t (b, a)')
  const rows = '1,x,1\n1,x,2\n,x,3\n,x,4\n1,x,5\n'
  const reply = await load(user, 'COPY t FROM STDIN CSV', rows, { on_conflict: 'update', key: 'a, b' })
  assert.deepEqual([reply.body.total_rows, reply.body.inserted_rows, reply.body.updated_rows], [5, 3, 0])
  assert.deepEqual((await user.sql('select n from t order by n')).rows, [{ n: 3 }, { n: 4 }, { n: 5 }])
})

test('without a unique index on the key the answer names the CREATE INDEX to run', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table "My places" (id int, "Name" text);
    create unique index on "My places" ("Name") where id > 0`)
  const options = { on_conflict: 'update', key: 'Name' }
  const reply = await load(user, 'COPY "My places" FROM STDIN CSV', '1,one\n', options)
  assert.deepEqual([reply.status, reply.body.code], [400, 'unique-index-missing'])
  const [, statement] = /^Run: (.*)$/.exec(String(reply.body.hint))!
  assert.equal(statement, 'CREATE UNIQUE INDEX ON "My places" ("Name")')
  await user.sql(statement!)
  assert.equal(
    (await load(user, 'COPY "My places" FROM STDIN CSV', '1,one\n', options)).body.inserted_rows,
    1,
  )
})

test('a merge leaves out bad rows, also those refused by a constraint of the table', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table places (id int primary key, name text not null check (name <> 'no'));
    insert into places values (1, 'one')`)
  const rows = `1,ONE\nx,bad\n3,no\n4,\n5,five\n5,cinq\n${Array.from({ length: 90_000 }, (_, at) => `${at + 10},n\n`).join('')}`
  const reply = await load(user, 'COPY places FROM STDIN CSV', rows, { ...update, on_error: 'skip' })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  const rejected = reply.body.rejected as { line: number; sqlstate: string }[]
  assert.deepEqual(
    rejected.map(({ line, sqlstate }) => [line, sqlstate]),
    [
      [2, '22P02'],
      [3, '23514'],
      [4, '23502'],
    ],
  )
  assert.equal(reply.body.inserted_rows, 90_001)
  assert.deepEqual((await user.sql('select name from places where id in (1, 5) order by id')).rows, [
    { name: 'ONE' },
    { name: 'cinq' },
  ])
})

test('a merge handles identity and generated columns, other schemas and names that need quotes', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create schema other;
    create table other."order" (
      id int generated always as identity primary key, "select" text, twice text generated always as ("select" || "select") stored
    );
    insert into other."order" ("select") values ('a')`)
  const q = 'COPY /* of it */ other . "order" -- here\n FROM STDIN CSV'
  const reply = await load(user, q, '1,b\n7,c\n', update)
  assert.deepEqual([reply.body.inserted_rows, reply.body.updated_rows], [1, 1], JSON.stringify(reply.body))
  assert.deepEqual((await user.sql('select * from other."order" order by id')).rows, [
    { id: 1, select: 'b', twice: 'bb' },
    { id: 7, select: 'c', twice: 'cc' },
  ])
})

test('rows are merged into a partitioned table, and counted', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table parts (id int, part text, name text, unique (id, part)) partition by list (part);
    create table parts_a partition of parts for values in ('a');
    create table parts_b (name text, part text, id int);
    alter table parts attach partition parts_b default;
    insert into parts values (1, 'a', 'one'), (2, 'b', 'two')`)
  const rows = '1,a,ONE\n2,b,TWO\n2,b,deux\n3,c,three\n,c,none\n'
  const reply = await load(user, 'COPY parts (id, part, name) FROM STDIN CSV', rows, {
    on_conflict: 'update',
    key: 'id,part',
  })
  assert.deepEqual([reply.body.inserted_rows, reply.body.updated_rows], [2, 2], JSON.stringify(reply.body))
  const stored = await user.sql('select name from parts order by id')
  assert.deepEqual(
    stored.rows.map(({ name }) => name),
    ['ONE', 'deux', 'three', 'none'],
  )
})

test('in key, quotes enclose a column name that has a comma', async (t) => {
  const started = await setup(t)
  const { user } = started
  await user.sql(`create table odd ("a,b" int, " ""c" int, d text, unique ("a,b", " ""c"));
    insert into odd values (1, 1, 'x')`)
  const merge = (key: string) =>
    load(user, 'COPY odd FROM STDIN CSV', '1,1,y\n', { on_conflict: 'update', key })
  assert.equal((await merge('"a,b", " ""c"')).body.updated_rows, 1)
  for (const bad of ['"a,b', '"a,b"x', 'a,,b', '""', ','])
    assert.match(String((await merge(bad)).body.error), /Invalid key: it must be a list/, bad)
  const client = clientOf(t, started)
  const key = ['a,b', ' "c']
  const answer = await client.copyFrom('COPY odd FROM STDIN CSV', '1,1,z\n', { onConflict: 'update', key })
  assert.equal(answer.updated_rows, 1)
})

test("an error in a merge stores nothing and names the caller's table", async (t) => {
  const { user } = await setup(t)
  await createPlaces(user)
  const reply = await load(user, 'COPY places (id, name) FROM STDIN CSV', '1,ONE\nx,two\n', update)
  assert.equal(reply.status, 400)
  assert.equal(reply.body.context, 'COPY places, line 2, column id: "x"')
  assert.equal((await placesOf(user))[0].name, 'one')
})

test('a merge needs the rights of INSERT ... ON CONFLICT', async (t) => {
  const { user } = await setup(t)
  await createPlaces(user)
  const table = { schema: 'public', name: 'places' }
  const made = await fetch(`${user.base}/api/v3/api_keys?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'writer',
      grants: [
        { type: 'apis', apis: ['sql'] },
        { type: 'database', tables: [{ ...table, permissions: ['select', 'insert', 'update'] }] },
      ],
    }),
  })
  const { token } = (await made.json()) as { token: string }
  const writer = { base: user.base, masterToken: token }
  const q = 'COPY places (id, name) FROM STDIN CSV'
  assert.equal((await load(writer, q, '1,ONE\n9,nine\n', update)).body.inserted_rows, 1)
  const stranger = { base: user.base, masterToken: 'default_public' }
  assert.equal((await load(stranger, q, '1,ONE\n', update)).status, 403)
})

test('parameters of a merge that do not fit are refused with the reason', async (t) => {
  const { user } = await setup(t)
  await createPlaces(user)
  const q = 'COPY places (id, name) FROM STDIN CSV'
  const cases: [options: Record<string, string>, text: RegExp][] = [
    [{ key: 'id' }, /go together/],
    [{ on_conflict: 'update' }, /go together/],
    [{ on_conflict: 'replace', key: 'id' }, /one of update, nothing/],
    [{ on_conflict: 'update', key: 'since' }, /the COPY has no column since/],
    [{ on_conflict: 'update', key: 'id,id' }, /named twice/],
  ]
  for (const [options, text] of cases) {
    const reply = await load(user, q, '1,one\n', options)
    assert.equal(reply.status, 400)
    assert.match(String(reply.body.error), text)
  }
})
