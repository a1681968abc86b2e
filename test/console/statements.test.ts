import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { splitStatements } from '../../src/client/statements.ts'
import { setup, type TestUser } from '../support/setup.ts'

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

test('a text is split where PostgreSQL splits it', async (t) => {
  const { user } = await setup(t)
  for (const text of texts) assert.deepEqual(split(text), await splitByDatabase(user, text), text)
})

test('any text of quotes, comments and semicolons is split as by PostgreSQL, and nothing is lost', async (t) => {
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

const split = (text: string) => splitStatements(text).map((statement) => tidy(statement.text))

async function splitByDatabase(user: TestUser, text: string): Promise<string[]> {
  const { rows } = await user.sql('select part from cartodb.cdb_querystatements($1) part', [text])
  return rows.map(({ part }) => tidy(part)).filter((part) => part !== '')
}

/** Comments at the ends belong to a statement or not, as one likes; so does its semicolon. */
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
