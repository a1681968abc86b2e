import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { loadModule, parsePlPgSQLSync } from 'libpg-query'
import { renderFallback } from '../../src/jobs/fallback-template.ts'
import { loadGrammar, parseTree } from '../../src/sql/grammar.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

before(async () => {
  await loadGrammar()
  await loadModule()
})

const jobId = '9f1e8c7a-0000-4000-8000-000000000001'
const render = (template: string, errorMessage: string) => renderFallback(template, { jobId, errorMessage })

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...["'", "''", '"', '\\', "\\'", '$', '$$', '$a$', '$x$', '*/', '/*', '*', '/', '--', '-'],
      ),
      fc.constantFrom(
        ...[';', '\n', '\r', '\0', '$&', '$1', "$'", '`', '<%= job_id %>', "'); DROP TABLE t; --"],
      ),
      fc.string({ unit: 'grapheme' }),
    ),
    { maxLength: 8 },
  )
  .map((pieces) => pieces.join(''))

/** Places where the message must arrive unchanged. */
const plainPlaces = [
  'SELECT <%= error_message %>',
  'SELECT (<%=error_message%>)',
  'SELECT <%=\n\terror_message  %>;',
  "SELECT '<%= error_message %>'",
  "SELECT n'<%= error_message %>'",
  "SELECT E'<%= error_message %>'",
  'SELECT $$<%= error_message %>$$',
  'SELECT $x$<%= error_message %>$x$',
  'SELECT/**/<%= error_message %>/**/',
]

/** All other places; the filled template must still parse. */
const otherPlaces = [
  `INSERT INTO "log <%= error_message %>" VALUES ('It''s <%= error_message %>', <%= job_id %>)`,
  `SELECT 'a' || <%= error_message %>||<%= job_id %>::text FROM t -- <%= error_message %>\n WHERE a`,
  '/* <%= error_message %>/ *<%= error_message %>*/ SELECT 1 -- <%= error_message %>\n, 2',
  "SELECT U&'\\0041<%= error_message %>', B'<%= error_message %>'",
  'SELECT U&"a<%= error_message %>" FROM t',
  "SELECT E'a\\\\<%= error_message %>\\'', E'\\<%= error_message %>'",
  "SELECT E'a'\n  <%= error_message %>\n'b\\''",
  "SELECT 'a'\n  <%= error_message %>\n'b\\'",
  "SELECT U&'a'\n<%= error_message %>",
  'SELECT $a$ <%= error_message %> $a $a$, $a$ $<%= error_message %>$ $a$',
  "SELECT f('insert into log values (''<%= error_message %>'')', $$ select '<%= error_message %>' $$)",
  'DO $$ BEGIN PERFORM <%= error_message %>; END $$; SELECT <%= error_message %>',
  'SELECT 1; SELECT <%= error_message %>; SELECT 2',
]

test('no error text changes the structure of a fallback', () => {
  for (const template of [...plainPlaces, ...otherPlaces]) {
    const expected = shape(parsed(render(template, 'harmless')))
    fc.assert(
      fc.property(hostile, (message) => {
        const rendered = render(template, message)
        assert.deepEqual(shape(parsed(rendered)), expected, rendered)
      }),
      { numRuns: 150 },
    )
  }
})

test('no error text changes the structure of a fallback, even of a broken template', () => {
  const hole = '<%= error_message %>'
  const torn = fc.array(
    fc.constantFrom(
      ...[
        hole,
        hole,
        hole,
        "'",
        "'",
        "''",
        '"',
        '\\',
        "E'",
        "U&'",
        'U&"',
        "B'",
        '$$',
        '$a$',
        '$a',
        '$',
        '\n',
        ' ',
      ],
      ...['--', '/*', '*/', '/', '*', '-', ';', '(', ')', ',', 'select ', 'a', 'E', '1', '||', 'do ', 'as '],
    ),
    { minLength: 1, maxLength: 12, size: 'max' },
  )
  // An empty message in an identifier is always an error.
  const nothingLeft = 'zero-length delimited identifier'
  fc.assert(
    fc.property(torn, hostile, (pieces, message) => {
      const template = `select ${pieces.join('')}`
      const expected = parseTree(render(template, 'harmless'))
      const actual = parseTree(render(template, message))
      if (!actual.ok && actual.message.startsWith(nothingLeft)) return
      assert.equal(actual.ok, expected.ok, template)
      if (actual.ok && expected.ok) assert.deepEqual(shape(actual.tree), shape(expected.tree), template)
    }),
    { numRuns: 5000 },
  )
})

test('a literal holds exactly the error text', () => {
  for (const template of plainPlaces) {
    fc.assert(
      fc.property(hostile, (message) => {
        assert.deepEqual(literals(parsed(render(template, message))), [message.replaceAll('\0', '')])
      }),
      { numRuns: 150 },
    )
  }
})

test('an identifier holds the error text, and other text around it stays', () => {
  const rendered = render(`SELECT 1 AS "x<%= error_message %>", 'a <%= job_id %> $&'`, `$& "q" 'q'`)
  assert.equal(rendered, `SELECT 1 AS "x$& ""q"" 'q'", 'a ${jobId} $&'`)
})

test('code in the body of DO or CREATE FUNCTION keeps its structure', () => {
  const bodies = [
    "INSERT INTO log VALUES ('x <%= error_message %>'); PERFORM 1;",
    'INSERT INTO log VALUES (<%= error_message %>); PERFORM 1;',
    '-- <%= error_message %>\n PERFORM 1; /* <%= error_message %> */',
    "EXECUTE $q$ INSERT INTO log VALUES ('<%= error_message %>') $q$; PERFORM 1;",
    "EXECUTE E'INSERT INTO log VALUES (\\'<%= error_message %>\\')'; PERFORM 1;",
    'RAISE NOTICE \'%\', "x<%= error_message %>"; PERFORM 1;',
  ]
  for (const body of bodies) {
    for (const [open, close, inner] of [
      ['$body$', '$body$', body],
      ["'", "'", body.replaceAll("'", "''")],
      ["E'", "'", body.replaceAll('\\', '\\\\').replaceAll("'", "\\'")],
    ]) {
      const template = `CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS ${open}BEGIN ${inner} END${close}`
      const expected = shape(parsePlPgSQLSync(render(template, 'harmless')))
      fc.assert(
        fc.property(hostile, (message) => {
          const rendered = render(template, message)
          assert.deepEqual(shape(parsed(rendered)), shape(parsed(render(template, 'harmless'))), rendered)
          assert.deepEqual(shape(parsePlPgSQLSync(rendered)), expected, rendered)
        }),
        { numRuns: 50 },
      )
    }
  }
})

test('an error text cannot close an open quote, comment or dollar literal', () => {
  for (const open of ["'", "E'", '"', '$$', '$a$ $', '/*', "U&'", "SELECT 'a'\n--"]) {
    fc.assert(
      fc.property(hostile, (message) => {
        const isRefused = (rendered: string) => !parseTree(rendered).ok
        const template = `SELECT 1 ${open} <%= error_message %>`
        assert.equal(isRefused(render(template, message)), isRefused(render(template, 'harmless')))
      }),
      { numRuns: 100 },
    )
  }
})

test('a value between words becomes a quoted literal with spaces around it', () => {
  const examples = {
    'SELECT <%= error_message %>': "SELECT 'it''s'",
    'VALUES (<%= job_id %>,<%= error_message %>)': `VALUES ('${jobId}','it''s')`,
    'SELECT E<%= error_message %>': "SELECT E 'it''s'",
    "SELECT 'a'<%= error_message %>'b'": "SELECT 'a' 'it''s' 'b'",
    'SELECT <%= error_message %>::text': "SELECT 'it''s' ::text",
  }
  for (const [template, rendered] of Object.entries(examples))
    assert.equal(render(template, "it's"), rendered)
})

test('a value loses its quotes, backslashes, dollars, comment signs and line ends only where nothing else is safe', () => {
  const message = 'a\'b"c\\d$e*/f--g\nh'
  for (const [template, rendered] of Object.entries({
    '-- <%= error_message %>': '-- abcde f g h',
    '/* <%= error_message %> */': '/* abcde f g h */',
    "U&'<%= error_message %>'": "U&'abcde f g h'",
    "DO $$ x := 'y <%= error_message %>' $$": "DO $$ x := 'y abcde f g h' $$",
    "SELECT f('g(''<%= error_message %>'')')": "SELECT f('g(''abcde f g h'')')",
    'SELECT $e$<%= error_message %>$e$': `SELECT $e$${message}$e$`,
  })) {
    assert.equal(render(template, message), rendered)
  }
})

test('a dollar literal gets another tag if the error text contains its own, and the text stays whole', async (t) => {
  const text = `it's "$e$" -- and $t0$`
  assert.equal(render('SELECT $e$<%= error_message %>$e$', text), `SELECT $t1$${text}$t1$`)
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  await user.sql('create table log (reason text)')
  await runJob(api, {
    query: [{ query: `do $do$ begin raise exception $r$${text}$r$; end $do$`, onerror: logReason }],
  })
  assert.deepEqual((await user.sql('select reason from log')).rows, [{ reason: text }])
})

const logReason = 'insert into log values ($e$<%= error_message %>$e$)'

test('an unknown placeholder stays as it is', () => {
  for (const template of [
    '<%= other %>',
    '<% job_id %>',
    '<%= job_id',
    'a < 1 % 2 = b',
    '<%= Job_Id %>',
    '',
  ]) {
    assert.equal(render(template, 'x'), template)
  }
})

test('PostgreSQL reads every error text unchanged from every plain place', async (t) => {
  const { admin } = await setup(t)
  const continued = ["SELECT 'a'\n<%= error_message %>", "SELECT E'a' -- b\n<%= error_message %>\n''"]
  const templates = [...plainPlaces.filter((template) => !template.endsWith(';')), ...continued]
  for (const message of [
    "'",
    "\\'",
    '\\',
    `it's\n"x"`,
    '$&',
    '$$',
    '$x$',
    '-- \\',
    "\\\\'; SELECT 1; --",
    '日本*/',
  ]) {
    const { rows } = await admin(`${templates.map((each) => render(each, message)).join(' UNION ALL ')}`)
    const values = (rows as Record<string, string>[]).map((row) => Object.values(row)[0])
    assert.deepEqual(new Set(values), new Set([message, `a${message}`]))
  }
})

function parsed(text: string): unknown {
  const result = parseTree(text)
  assert.ok(result.ok, `${result.ok ? '' : result.message}: ${text}`)
  return result.tree
}

/** The parse tree without positions and without the values that were filled in. */
function shape(tree: unknown): unknown {
  return JSON.parse(
    JSON.stringify(tree, (key, value) => {
      if (/^(location|stmt_location|stmt_len|lineno)$/.test(key)) return undefined
      if (key === 'sval' && typeof value === 'object') return '*'
      return typeof value === 'string' && /^(sval|bsval|name|relname|query|PLpgSQL_.*)$/.test(key)
        ? '*'
        : value
    }),
  )
}

function literals(tree: unknown): string[] {
  const found: string[] = []
  JSON.stringify(tree, (key, value) => {
    if (key === 'A_Const') found.push(value.sval?.sval ?? '')
    return value
  })
  return found
}
