import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '../support/http/ask.ts'
import { keyRolesOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

// Two members of an organization: Anna shares objects that carry code, and a key of Bert creates something from them.

const sharedTypes = `
  create function told(text) returns boolean language plpgsql as $$ begin raise notice 'ran as %', current_user; return true; end $$;
  create domain trap as text check (told(value));
  create domain number as int check (told(value::text));
  create type mood as enum ('ok', 'bad');
  create type pair as (a int, b trap);
  create type plain as (a int, b text);
  create type span as range (subtype = number);
  create type reach as range (subtype = float8);
  create table kept (id int, t trap, m mood);
  insert into kept values (1, 'x', 'ok');
  create view seen as select id, told('x') from kept;
  create table guarded (id int);
  create policy p on guarded using (told('x'));
  alter table guarded enable row level security;
  create function same(text, text) returns boolean immutable language sql return true;
  create operator === (leftarg = text, rightarg = text, function = pg_catalog.texteq);
  create collation sorted from "C";
  create table open (id int)`

async function members(t: TestContext) {
  const context = await setup(t)
  const { name: organization, owner: anna } = await context.createOrganization()
  const bert = await context.createUser({ organization })
  await anna.sql(sharedTypes)
  await anna.sql(`grant usage on schema "${anna.username}" to public;
    grant select on all tables in schema "${anna.username}" to public`)
  const { token } = await keysClient(bert).make('maker', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas: [{ name: bert.username, permissions: ['create'] }] },
  ])
  return {
    context,
    anna,
    bert,
    role: await roleOf(context, bert, 'maker'),
    run: (q: string) => ask(bert, q.replaceAll('@', `"${anna.username}".`), { api_key: token }),
    asBert: (q: string) => bert.sql(q.replaceAll('@', `"${anna.username}".`)),
    relations: () => relationsOf(bert),
  }
}

/** The tables and views in the member's schema, with the types of their columns. */
async function relationsOf(member: TestUser): Promise<string[]> {
  const { rows } = await member.sql(
    `select relname || coalesce(' ' || string_agg(format_type(atttypid, null), ',' order by attnum), '') as shown
     from pg_class left join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     where relnamespace = $1::regnamespace and relkind in ('r', 'p', 'v', 'm') group by relname order by relname`,
    [`"${member.username}"`],
  )
  return rows.map(({ shown }) => shown)
}

/** Runs each text in its own request and returns those not refused as code of another user. */
async function answersButRefusal(run: (q: string) => ReturnType<typeof ask>, texts: readonly string[]) {
  const steps = texts.map(
    (text) => `begin
      execute $text$${text}$text$;
      raise warning '%', $text$${text}$text$;
    exception when others then
      if sqlstate <> '42501' or sqlerrm !~ '^an API key creates data, not code: .* uses .*another user$' then
        raise warning '%: %', $text$${text}$text$, sqlerrm;
      end if;
    end;`,
  )
  const { status, body } = await run(`do $do$ begin ${steps.join('\n')} end $do$`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.warnings ?? []
}

const types = [
  '@trap',
  '@trap[]',
  '@mood',
  '@mood[]',
  '@pair',
  '@pair[]',
  '@plain',
  '@span',
  '@span[]',
  '@reach',
  '@reach_multirange',
  '@kept',
  '@kept[]',
  'mine',
  'around',
  'around[]',
]

test('what a key creates uses no type of another member, directly or indirectly', async (t) => {
  const { run, asBert, relations } = await members(t)
  await asBert('create domain mine as @trap; create type around as (a int, b @number[])')
  assert.equal((await run('create table own (v text, n int)')).status, 200)
  const whereverItStands = (type: string) => [
    `create table x (v ${type})`,
    `create view x as select v from own where null::${type} is null`,
  ]
  const ofEachKind = (type: string) => [
    `alter table own add column w ${type}`,
    `create table x as select null::${type} as v`,
    `select null::${type} as v into x`,
    `create view x as select null::${type} as v`,
    `create view x as with w as (select null::${type} as v) select n from own where exists (select from w)`,
    `create view x as select r.n from json_to_record('{}') as r(n int, v ${type})`,
    `create materialized view x as select null::${type} as v`,
    `create table x (v boolean default (null::${type} is null))`,
    `create table x (v text check (null::${type} is null))`,
    `create table x (v text, w boolean generated always as (null::${type} is null) stored)`,
    `create index on own ((null::${type} is null))`,
    `create index on own (v) where null::${type} is null`,
  ]
  const texts = [...types.flatMap(whereverItStands), ...['@trap', 'around'].flatMap(ofEachKind)]
  assert.deepEqual(await answersButRefusal(run, texts), [])
  assert.deepEqual(await relations(), ['own text,integer'])
})

test('what a key creates uses no operator, collation, view or row security of another member', async (t) => {
  const { run, relations } = await members(t)
  assert.equal((await run('create table own (v text)')).status, 200)
  const texts = [
    `create view x as select v operator(@===) 'a' as same from own`,
    `create table x (v text check (v operator(@===) 'a'))`,
    `create index on own (v collate @sorted)`,
    `create table x (v text collate @sorted)`,
    `create view x as select v from own order by v collate @sorted`,
    `create view x as select id from @seen`,
    `create materialized view x as select id from @seen`,
    `create view x as select 1 as a where exists (select from @seen)`,
    `create view x as select id from @guarded`,
    `create view x as select k from @kept k`,
    `create view x as select * from @kept`,
    `create table x (like @kept)`,
    `create table x of @plain`,
    `create table x (v text) partition by list ((v::@trap))`,
  ]
  assert.deepEqual(await answersButRefusal(run, texts), [])
  assert.deepEqual(await relations(), ['own text'])
})

test("a key can still use its own user's types and plain tables of other members", async (t) => {
  const { run, asBert } = await members(t)
  await asBert(
    `create domain small as int check (value < 10); create type state as enum ('on'); create type box as (a small)`,
  )
  for (const text of [
    'create table x (a small, b state[], c box, d geometry(Point, 4326))',
    'create view y as select a::small, c from x',
    'create view z as select id from @open',
    'create table copied as select id, t::text as t, m::text as m from @kept',
    'create materialized view counted as select count(*) from @kept',
    `create index on x ((a::small))`,
    `insert into x (a) values (3)`,
  ]) {
    const { status, body } = await run(text)
    assert.equal(status, 200, `${text}: ${JSON.stringify(body)}`)
  }
})

test('tables made by EXPLAIN ANALYZE, which event triggers do not see, lose such types too', async (t) => {
  const { run, relations } = await members(t)
  for (const text of [
    'explain analyze create table a as select 1 as id, t from @kept',
    'explain analyze create materialized view b as select t from @kept',
    'explain analyze create materialized view c as select id from @seen',
    `do $$ begin execute 'explain analyze create table d as select 1 as id, array[m] as m from @kept'; end $$`,
  ]) {
    assert.equal((await run(text)).status, 200, text)
  }
  assert.deepEqual(await relations(), ['a integer', 'd integer'])
})

test('deleting a key hands over none of these, whenever they were made', async (t) => {
  const { context, anna, bert, role, run, asBert, relations } = await members(t)
  await run('create table own (id int); create view fine as select id from own')
  // As if it had been made before the types of keys were checked.
  await asBert(`create table t (id int default 1, v @trap default 'x', m @mood[]);
    create table parted (v @trap) partition by list (v); create table part partition of parted for values in ('x');
    create table typed of @pair; create table checked (n int check (n::@number > 0)); create index on checked ((n::@number));
    create view w as select 'x'::text::@trap as v; create view over as select id from @seen;
    create view plain as select id from @open; create materialized view m as select 'x'::text::@trap as v`)
  const tables = ['t', 'parted', 'part', 'typed', 'checked', 'w', 'over', 'plain', 'm']
  const commands = tables.map((name) => `alter table "${bert.username}".${name} owner to "${role}"`)
  await context.admin(commands.join(';'), [], bert.account.database)

  assert.equal((await keysClient(bert).remove('maker')).status, 200)
  await eventually(async () => assert.deepEqual(await keyRolesOf(context, bert), []))
  assert.deepEqual(await relations(), [
    'checked integer',
    'fine integer',
    'own integer',
    'plain integer',
    't integer',
    'typed integer',
  ])
  await anna.sql('drop domain trap cascade; drop domain number cascade')
  assert.deepEqual((await bert.sql('insert into t default values returning id')).rows, [{ id: 1 }])
  assert.equal((await bert.sql('insert into checked values (-1)')).rowCount, 1)
})

test("the master key does not cartodbfy a table of its key that has another member's types", async (t) => {
  const { context, bert, role, asBert } = await members(t)
  await asBert('create table t (id int, v @trap)')
  await context.admin(`alter table "${bert.username}".t owner to "${role}"`, [], bert.account.database)
  const { status, body } = await ask(bert, `select CDB_CartodbfyTable('t')`)
  assert.equal(status, 403)
  assert.match(body.error[0]!, /^column v of table .* uses type .*trap, which is not yours$/)
})
