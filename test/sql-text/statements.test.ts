import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { parseStatements } from '../../src/sql/statements.ts'
import { changesCatalog, splitStatements, statementWithin } from '../../src/sql-text/statements.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const texts = [
  'select 1',
  'select 1; select 2;',
  ';;  ; select 1 ;; ',
  "select ';' ; select 'it''s; ok'",
  "select E'a\\';b'; select 2",
  'select ";" from "a;b"; select 2',
  'select $$ ; $$; select $tag$ $$ ; $tag$',
  '-- a; b\nselect 1; select /* ; /* ; */ ; */ 2',
  'select $1; select a$b$c; select 1',
  'create function f() returns int language sql begin atomic select 1; select case when true then 2 end; end; select 3',
  'create rule r as on insert to t do also (insert into u values (1); insert into v values (2)); select 1',
  'begin; update t set a = 1; commit',
  'select 1; -- the end',
]

test('a text is split into statements as PostgreSQL does', async (t) => {
  const { user } = await setup(t)
  for (const text of texts) assert.deepEqual(split(text), await splitByDatabase(user, text), text)
})

test('a text that may change the catalogs is recognised, wherever it does so', () => {
  for (const text of [
    'create table a (n int)',
    'begin; alter table a add b int; commit',
    'commit',
    'select 1 as n into a',
    "do $$ begin execute 'drop table a'; end $$",
    "select CDB_CartodbfyTable('a')",
    'analyze a',
    "comment on table a is 'b'",
    'grant select on a to public',
  ])
    assert.ok(changesCatalog(text), text)
  for (const text of [
    'select 1',
    'insert into a values (1)',
    'with a as (select 1) select * from a',
    'explain analyze select 1',
  ])
    assert.ok(!changesCatalog(text), text)
})

test('any text of quotes, comments and semicolons is split as PostgreSQL does, and nothing is lost', async (t) => {
  const { user } = await setup(t)
  const part = fc.constantFrom(
    ...[
      'select 1',
      'a',
      ' ',
      '\n',
      ';',
      "';'",
      '";"',
      '$$;$$',
      '$x$ ; $x$',
      '/*;*/',
      '--;\n',
      '(',
      ')',
      " E'\\';'",
    ],
  )
  const documents = fc.sample(
    fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
    60,
  )
  for (const text of documents)
    assert.deepEqual(split(text), await splitByDatabase(user, text), JSON.stringify(text))
})

before(loadGrammar)

/** What may be between two tokens: spaces, and comments that look like something else. */
const gaps = ['', ' ', '\n', '\t', '\r', '--;\n', "--'\r", '/*;*/', "/* /*'*/ $$ */", '--€$$\n'] as const
const gap = fc.constantFrom(...gaps)

/** Values whose end depends on the lexical rules of PostgreSQL. */
const value = fc.constantFrom(
  ...[
    '1',
    '1e5',
    '0x1F',
    '1_000',
    '1.',
    '.5e-3',
    '$1',
    '$1::text',
    'a',
    'é',
    'a$b$c',
    '1 as €$$',
    '1 as _$a$',
    '1 as é$',
  ],
  ...[
    "';'",
    "'it''s;'",
    "'\\'",
    "E'\\';'",
    "e'\\\\'",
    "E'a'\n'\\';'",
    "E'a' --';\n \n'\\';'",
    "'a'\n'\\'",
    "n'\\'",
  ],
  ...[
    "b'1'\r'0'",
    "x'1F'",
    "u&'\\0061;'",
    'u&"d;" ',
    '";"',
    '"a"";"',
    '"\\"',
    "(select ';')",
    '(1)',
    '- -1',
    "a->'b;'",
  ],
  ...['$$;$$', '$x$;$$;$x$', '$é1$;$é$;$é1$', '$x$$y$x$', '$_$ $ ;$_$', '1*/*;*/2', '2-- ;\n+2', '1//*;*/2'],
  ...['case when true then 1 end', '1 as "end"', 'f(a => 1)', "E'\\\\'", 'a 😀$$', '1\u00a0', '"🙂;"'],
)

const body = fc.constantFrom(
  'select 1;',
  'select case when a then 1 else 2 end;',
  'select 1 as end; ',
  'insert into t values (1); select $$;$$;',
)

const select = fc
  .array(fc.tuple(value, gap), { minLength: 1, maxLength: 5 })
  .map((values) => `select ${values.map((each) => each.join('')).join(',')}`)

const statement = fc.oneof(
  { weight: 8, arbitrary: select },
  { weight: 1, arbitrary: body.map((text) => `create function f() returns int begin atomic ${text} end`) },
  {
    weight: 1,
    arbitrary: body.map((text) => `create or replace procedure begin(begin atomic) begin atomic ${text} end`),
  },
  {
    weight: 1,
    arbitrary: fc.constant('create rule r as on insert to t do also (delete from a; delete from b)'),
  },
  { weight: 1, arbitrary: fc.constantFrom('', 'begin', 'commit', 'create table function (a int)') },
)

test("any valid SQL is split as by PostgreSQL's grammar", () => {
  let read = 0
  fc.assert(
    fc.property(fc.array(fc.tuple(gap, statement, gap), { maxLength: 5 }), (parts) => {
      const text = parts.map((part) => part.join('')).join(';')
      const parsed = parseStatements(text)
      if (!parsed.ok) return
      read++
      const ours = splitStatements(text)
      assert.equal(ours.length, parsed.statements.length)
      for (const [at, { text: theirs }] of parsed.statements.entries()) {
        const [before, after] = theirs.split(ours[at]!.text, 2)
        assert.equal(withoutGaps(before!) + withoutGaps(after!), '', `${theirs} became ${ours[at]!.text}`)
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(read > 1500, `only ${read} texts were SQL`)
})

test('a part of a text ends with its statement, and is whole if it has none or several', () => {
  const within = (text: string) => statementWithin(`xx${text}yy`, 2, 2 + text.length)
  const whole = '/* a */ select ; -- note; /* b */'
  assert.deepEqual(within(whole), { from: 2, to: 16, text: '/* a */ select' })
  for (const text of ['select 1; select 2; -- note', ' -- note', 'a'])
    assert.deepEqual(within(text), { from: 2, to: 2 + text.length, text })
})

test('a text of any length is split in linear time', () => {
  for (const piece of [
    '-',
    "'a'\n",
    "'a' --\n",
    '/*',
    '$',
    '$a$',
    "E'",
    ' ',
    '\n--\n',
    '1_',
    '1.',
    'begin atomic ',
  ]) {
    for (const first of ['', "'a' ", "'a'\n"]) splitStatements(first + piece.repeat(50_000))
  }
})

/** The text without the spaces and comments of `gaps`. */
const withoutGaps = (text: string) =>
  gaps
    .filter((each) => each.trim() !== '')
    .reduce<string>((rest, comment) => rest.replaceAll(comment.trim(), ''), text)
    .trim()

const split = (text: string) => splitStatements(text).map((statement) => tidy(statement.text))

async function splitByDatabase(user: TestUser, text: string): Promise<string[]> {
  const { rows } = await user.sql('select part from cartodb.cdb_querystatements($1) part', [text])
  return rows.map(({ part }) => tidy(part)).filter((part) => part !== '')
}

/** Ignores comments and semicolons at both ends: either split may include them. */
function tidy(text: string): string {
  let former: string
  let now = text
  do {
    former = now
    now = now
      .replace(/^\s+|[\s;]+$/g, '')
      .replace(/^--[^\n]*(\n|$)/, '')
      .replace(/^\/\*;\*\//, '')
      .replace(/\/\*;\*\/$/, '')
      .replace(/--[^\n']*$/, '')
  } while (now !== former)
  return now
}
