import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { parseStatements } from '../../src/sql/statements.ts'

before(loadGrammar)

const split = (text: string) => {
  const parsed = parseStatements(text)
  return parsed.ok ? parsed.statements.map(({ tag, text: statement }) => [tag, statement]) : parsed.code
}

test('a text is split into its statements, each with the kind of its node', () => {
  assert.deepEqual(split(`SELECT ';é'; ;; VACUUM t;\n-- the end;`), [
    ['SelectStmt', "SELECT ';é'"],
    ['VacuumStmt', 'VACUUM t'],
  ])
  assert.deepEqual(split(' ; -- nothing'), [])
  assert.deepEqual(split(''), [])
})

test('a semicolon in a literal, identifier, comment or body splits nothing', () => {
  for (const text of ["SELECT 'a;b'", 'SELECT 1 AS "a;b"', 'SELECT /* ; */ 1', 'DO $x$ begin; end $x$']) {
    assert.equal(split(text).length, 1, text)
  }
})

test('joining statements with semicolons and splitting gives the same statements', () => {
  const statement = fc.oneof(
    fc.constantFrom('BEGIN', 'TABLE t', 'VACUUM', 'SELECT $$;$$', "/* ; */ SELECT E'\\';'", 'SELECT "日;本"'),
    fc
      .string({ unit: 'grapheme' })
      .filter((value) => !value.includes('\0'))
      .map((value) => `SELECT '${value.replaceAll("'", "''")}'`),
  )
  fc.assert(
    fc.property(
      fc.array(statement),
      fc.constantFrom(';', ' ;\n', ';;', '; -- and\n'),
      (statements, separator) => {
        const parsed = parseStatements(statements.join(separator))
        assert.ok(parsed.ok)
        const texts = parsed.statements.map(({ text }) => text)
        assert.equal(texts.length, statements.length)
        for (const [index, text] of texts.entries())
          assert.ok(text.endsWith(statements[index]!.replace(/^\/.*?\/ /, '')))
        assert.deepEqual(split(texts.join(';')), split(statements.join(separator)))
      },
    ),
  )
})

test("a syntax error has PostgreSQL's message and the position in characters", () => {
  assert.deepEqual(parseStatements('SELECT "é日" FRM t; x'), {
    ok: false,
    code: 'syntax-error',
    message: 'syntax error at or near "t"',
    position: 17,
  })
})

test('a NUL, which would end the text for the parser, is refused', () => {
  assert.equal(split('SELECT 1\0; DROP TABLE t'), 'nul-character')
})

test('a text that would block the process is refused, however long a literal may be', () => {
  assert.equal(split(`SELECT ${'1,'.repeat(9000)}1`), 'too-complex')
  assert.equal(split(`SELECT '${'x'.repeat(262_144)}'`), 'too-large')
  assert.equal(split(`SELECT '${'1,'.repeat(100_000)}'`).length, 1)
})

test('a text nested deep enough to break the parser is refused, and harms no later text', async () => {
  const deep = `SELECT a${' COLLATE b'.repeat(8000)}`
  for (let round = 0; round < 20; round++) {
    assert.equal(split(deep), 'too-complex')
    while (split('TABLE t') === 'unavailable') await nextTurn()
    assert.deepEqual(split('TABLE t'), [['SelectStmt', 'TABLE t']])
  }
})

test('no text keeps the process busy, whatever its operators and comments are', () => {
  const pieces = ['/*', '+', '+-', '@-', '-+/*', '*/', '/* ', '--', '-- \n', "'", '(', '<>', '$$']
  for (const piece of pieces) {
    for (const length of [16_000, 250_000]) {
      const start = process.cpuUsage()
      parseStatements(piece.repeat(length / piece.length))
      const { user, system } = process.cpuUsage(start)
      assert.ok(user + system < 500_000, `${piece} ${length}: ${(user + system) / 1000} ms`)
    }
  }
  const banner = `/${'*'.repeat(5_000)}/\n${`${'-'.repeat(100)}\n`.repeat(1_000)}select 1`
  assert.equal(parseStatements(banner).ok, true)
})
