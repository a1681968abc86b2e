import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseCopy } from '../../src/sql/copy-statement.ts'
import { loadGrammar } from '../../src/sql/grammar.ts'

before(loadGrammar)

test('a COPY between client and table is parsed with its format, in the new and the old syntax', () => {
  const formats = {
    'COPY t FROM STDIN': 'text',
    'COPY t (a, "b") FROM STDIN WITH (FORMAT csv, HEADER true)': 'csv',
    'COPY t FROM STDIN CSV HEADER': 'csv',
    "COPY t FROM STDIN WITH DELIMITER ',' CSV QUOTE '\"'": 'csv',
    "COPY t FROM STDIN USING DELIMITERS '|'": 'text',
    'COPY BINARY t FROM STDIN': 'binary',
    'COPY t FROM STDIN BINARY': 'binary',
    'COPY t FROM STDIN (FORMAT binary)': 'binary',
    'COPY t FROM STDIN (FREEZE, FORMAT text) WHERE a > 1': 'text',
    "COPY t FROM STDIN (FORMAT 'csv', ENCODING 'LATIN1', FORCE_NOT_NULL (a), NULL '')": 'csv',
    ' /* a /* nested */ comment */ -- and one more\n copy s.t from stdin ; ': 'text',
  }
  for (const [text, format] of Object.entries(formats)) {
    const copy = parseCopy(text, 'from')
    assert.ok(copy.ok, text)
    assert.deepEqual([copy.direction, copy.source, copy.format], ['from', 'table', format], text)
  }
})

test('a COPY to the client takes a table, some of its columns or a query', () => {
  const sources = {
    'COPY t TO STDOUT': 'table',
    'COPY t (a, b) TO stdout WITH CSV HEADER': 'table',
    'COPY (SELECT 1) TO STDOUT': 'query',
    'COPY (WITH x AS (SELECT 1) TABLE x) TO STDOUT (FORMAT csv);': 'query',
    'COPY (INSERT INTO t VALUES (1) RETURNING *) TO STDOUT': 'query',
  }
  for (const [text, source] of Object.entries(sources)) {
    const copy = parseCopy(text, 'to')
    assert.ok(copy.ok, text)
    assert.deepEqual([copy.direction, copy.source], ['to', source], text)
  }
})

test('the text of the statement has no semicolon', () => {
  const copy = parseCopy('COPY t TO STDOUT ;', 'to')
  assert.equal(copy.ok && copy.text, 'COPY t TO STDOUT')
})

test('anything but exactly one COPY of the right direction is refused with the reason', () => {
  const refusals = {
    '': ['missing', 'SQL is missing'],
    ' \n': ['missing', 'SQL is missing'],
    '-- only this': ['missing', 'SQL is missing'],
    'SELECT 1': ['not-copy', 'SQL must start with COPY'],
    'SELECT 1; COPY t TO STDOUT': ['not-copy', 'SQL must start with COPY'],
    'not even SQL': ['not-copy', 'SQL must start with COPY'],
    'copyright t TO STDOUT': ['not-copy', 'SQL must start with COPY'],
    'COPY t TO STDOUT; SELECT 1': ['several-statements', 'SQL must be exactly one COPY statement'],
    'COPY t TO STDOUT; COPY t TO STDOUT': ['several-statements', 'SQL must be exactly one COPY statement'],
    'COPY t FROM STDIN': ['wrong-direction', 'SQL must be COPY ... TO STDOUT, not COPY ... FROM'],
    "COPY t TO '/tmp/x'": ['server-file', 'COPY with a server file is not allowed, use STDIN or STDOUT'],
    "COPY t FROM '/tmp/x'": ['server-file', 'COPY with a server file is not allowed, use STDIN or STDOUT'],
    "COPY t TO PROGRAM 'cat'": ['program', 'COPY with PROGRAM is not allowed, use STDIN or STDOUT'],
    'COPY t TO STDOUT (': ['syntax-error', 'syntax error at end of input'],
    'COPY (SELECT 1) FROM STDIN': ['syntax-error', 'syntax error at or near "FROM"'],
    'COPY t TO STDOUT\0; DROP TABLE t': ['syntax-error', 'SQL must not contain NUL characters'],
  }
  for (const [text, expected] of Object.entries(refusals)) {
    const copy = parseCopy(text, 'to')
    assert.ok(!copy.ok, text)
    assert.deepEqual([copy.code, copy.message], expected, text)
  }
  const out = parseCopy('COPY t TO STDOUT', 'from')
  assert.equal(!out.ok && out.message, 'SQL must be COPY ... FROM STDIN, not COPY ... TO')
})
