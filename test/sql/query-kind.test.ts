import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { containsCopy, pageableStatement, wrapForPaging } from '../../src/sql/query-kind.ts'
import { setup } from '../support/service/setup.ts'

before(loadGrammar)

test('a COPY is found anywhere among the statements, and nowhere else', () => {
  for (const text of [
    'COPY t TO STDOUT',
    'SELECT 1; copy t from stdin;',
    "/* x */COPY t FROM '/etc/passwd'",
  ]) {
    assert.ok(containsCopy(text), text)
  }
  for (const text of ["SELECT 'COPY t TO STDOUT'", 'SELECT copy FROM t -- COPY', 'COPY COPY', 'SELECT 1']) {
    assert.ok(!containsCopy(text), text)
  }
})

const numbers = 'SELECT n, n % 3 AS "the ""Rest""" FROM generate_series(1, 9) AS n'

const pageable = [
  numbers,
  `${numbers} ;; `,
  `${numbers} -- at the end`,
  `/* first */ ${numbers} /* then */; -- and last`,
  `(${numbers})`,
  `(${numbers}) ORDER BY n DESC`,
  `WITH x AS (${numbers}) SELECT * FROM x`,
  `WITH RECURSIVE x(n, "the ""Rest""") AS (SELECT 1, 1 UNION SELECT n + 1, (n + 1) % 3 FROM x WHERE n < 9) TABLE x`,
  `SELECT * FROM (VALUES (1,1),(2,2),(3,0),(4,1),(5,2),(6,0),(7,1),(8,2),(9,0)) AS v(n, "the ""Rest""") LIMIT 100`,
  `${numbers} EXCEPT SELECT 10, 1`,
  `SELECT * FROM (${numbers}) AS q FOR UPDATE`,
]

test('a page of a SELECT has its rows in the requested order', async (t) => {
  const { admin } = await setup(t)
  for (const text of pageable) {
    const paging = { limit: 2, offset: 3, orderBy: 'the "Rest"', sortOrder: 'desc' } as const
    const { rows, fields } = await admin(wrapForPaging(text, paging))
    assert.deepEqual(
      rows.map((row) => row['the "Rest"']),
      [1, 1],
      text,
    )
    assert.deepEqual(
      fields.map(({ name }) => name),
      ['n', 'the "Rest"'],
      text,
    )
  }
})

test("paging keeps the statement's own order", async (t) => {
  const { admin } = await setup(t)
  const { rows } = await admin(wrapForPaging(`${numbers} ORDER BY n DESC`, { limit: 3, offset: 1 }))
  assert.deepEqual(
    rows.map(({ n }) => n),
    [8, 7, 6],
  )
})

test('VALUES and TABLE can be paged, also with unnamed, equal or no columns', async (t) => {
  const { admin } = await setup(t)
  for (const text of [
    'VALUES (1, 2), (3, 4)',
    'TABLE pg_class',
    'SELECT 1, 2',
    'SELECT 1 AS a, 2 AS a',
    'SELECT',
  ]) {
    assert.equal((await admin(wrapForPaging(text, { limit: 1, offset: 0 }))).rowCount, 1, text)
  }
})

test('anything but a single SELECT, and one that writes, is sent unchanged', () => {
  for (const text of [
    'INSERT INTO t VALUES (1) RETURNING *',
    'UPDATE t SET a = 1',
    'SELECT 1; SELECT 2',
    'SELECT 1 INTO t',
    'SELECT 1 INTO t UNION SELECT 2 UNION SELECT 3',
    'WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x',
    'EXPLAIN SELECT 1',
    'SHOW work_mem',
    'BEGIN; SELECT 1; COMMIT;',
    'SELEC 1',
    '',
  ]) {
    assert.equal(pageableStatement(text), undefined, text)
    assert.equal(wrapForPaging(text, { limit: 1, offset: 1, orderBy: 'a' }), text)
  }
})

test('without paging or ordering a text stays unchanged', () => {
  assert.equal(wrapForPaging('SELECT 1;', {}), 'SELECT 1;')
  assert.equal(wrapForPaging('SELECT 1;', { sortOrder: 'desc' }), 'SELECT 1;')
})

test('a column name cannot add to the statement', () => {
  assert.equal(
    wrapForPaging('SELECT 1', { orderBy: 'a"; DROP TABLE t; --\0' }),
    'SELECT * FROM (\nSELECT 1\n) AS cartage_rows ORDER BY "a""; DROP TABLE t; --" ASC',
  )
})
