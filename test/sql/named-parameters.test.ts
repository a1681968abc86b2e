import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { fillParameters, namedParameters } from '../../src/sql/named-parameters.ts'
import { parseStatements } from '../../src/sql/statements.ts'

before(loadGrammar)

const namesIn = (sql: string) => {
  const named = namedParameters(sql)
  return named.ok ? named.names : named.message
}

test('a parameter is a colon and a word, as PostgreSQL reads them', () => {
  for (const [sql, names] of [
    ['select :a, :b_2, :a', ['a', 'b_2', 'a']],
    ['select * from t where n between :low and :high limit :most', ['low', 'high', 'most']],
    ['select x::int, :a::text, (:b)::int', ['a', 'b']],
    ["select ':a', E'\\':b', $$ :c $$, $t$ :d $t$, U&':e', B'1', 'it''s :f'", []],
    ['select ":a" as ":b" -- :c\n/* :d /* :e */ :f */, 1', []],
    ['select array[:a, :b], array[[:c], [:d]]', ['a', 'b', 'c', 'd']],
    ['select a[1:n], a[:n], a[n:], a[b:n], a[f(:x):n]', ['x']],
    ['select a[(:low):(:high)], a[1 + :n], a[1: :m]', ['low', 'high', 'n', 'm']],
    ["select json_object('k':v, 'l' : :w), json_object(:k : :v)", ['w', 'k', 'v']],
    ['select :select, :from', ['select', 'from']],
    ["select '\u0001', :é, '😀', :b", ['é', 'b']],
    ['select : a', []],
  ] as const)
    assert.deepEqual(namesIn(sql), names, sql)
})

test('a parameter never merges with its neighbours', () => {
  const fill = (sql: string) => {
    const named = namedParameters(sql)
    assert.ok(named.ok)
    return fillParameters(named, (name) => `<${name}>`)
  }
  assert.equal(fill('select x:a'), 'select x <a> ')
  assert.equal(fill("select 'é':a||:b"), "select 'é' <a> || <b> ")
})

test('a numbered parameter and a text that PostgreSQL cannot scan are refused', () => {
  assert.match(String(namesIn('select $1')), /Write \$1 as a parameter with a name/)
  assert.match(String(namesIn("select ':a")), /unterminated quoted string/)
  assert.match(String(namesIn('select /* :a')), /unterminated/)
  assert.match(String(namesIn('select \0')), /NUL/)
})

test('in any text a literal stays unchanged, and only words after a colon change', () => {
  const literal = fc.string().map((text) => `'${text.replaceAll("'", "''").replaceAll('\0', '')}'`)
  const part = fc.oneof(
    literal,
    fc.constantFrom(':a', '-- :b\n', '/* :c */', 'x::text', '$$:d$$', '":e"', 'y[1:z]'),
  )
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
      const values = parts.map((each) => (/^(--|\/\*)/.test(each) ? `${each} 1` : each))
      const sql = `select ${values.join(', ')}`
      const named = namedParameters(sql)
      assert.ok(named.ok, sql)
      assert.equal(named.names.length, parts.filter((each) => each === ':a').length, sql)
      const filled = fillParameters(named, () => 'null')
      assert.equal(filled.replaceAll(' null ', ':a'), sql)
      assert.ok(parseStatements(filled).ok, filled)
    }),
  )
})
