import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fingerprint, parse, scan } from 'libpg-query'
import { formatSql } from '../../../console/sql/format/format-sql.ts'
import { parametersOf } from '../../../src/sql-text/named-values.ts'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, write } from '../support/sql-page.ts'

const runs = 100 * Number(process.env.CARTAGE_TEST_MORE ?? 1)

/** The tokens of PostgreSQL's scanner, with comments. */
const tokensIn = async (text: string) => {
  const bytes = Buffer.from(text)
  const { tokens } = await scan(text)
  return tokens.map(({ start, end, tokenName }) => [tokenName, bytes.subarray(start, end).toString()])
}

const treeOf = async (text: string) =>
  JSON.stringify(await parse(text), (name, value) =>
    /(^|_)(location|len|start|end)$/.test(name) ? undefined : value,
  )

async function assertSame(text: string, formatted: string): Promise<void> {
  assert.deepEqual(await tokensIn(formatted), await tokensIn(text), text)
  const tree = await treeOf(text).catch(() => undefined)
  if (tree === undefined) return
  assert.equal(await treeOf(formatted), tree, text)
  assert.equal(await fingerprint(formatted), await fingerprint(text), text)
}

const gap = fc.oneof(
  { arbitrary: fc.constant(' '), weight: 6 },
  fc.constantFrom(
    '',
    '',
    '\n',
    '\t',
    '  \n\n ',
    ' /* a  b */ ',
    '/*x\n   y /* z */*/',
    ' -- c  \n',
    "\n--it's\n",
  ),
)

/** The parts with any gaps between them. */
const spaced = (...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
  fc
    .tuple(...parts.map((part) => fc.tuple(gap, typeof part === 'string' ? fc.constant(part) : part)))
    .map((pairs) => pairs.map(([space, part]) => space + part).join(''))

const listOf = (one: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(one, gap), { minLength: 1, maxLength: 3 }).map((all) =>
    all
      .flat()
      .join(',')
      .replaceAll(/,(\s*),/g, '$1,')
      .replace(/,(\s*)$/, '$1'),
  )

const name = fc.constantFrom(
  'a',
  'the_geom',
  '"Q "" x"',
  't.b',
  'T . "c d"',
  'straße',
  'U&"\\0061"',
  'key',
  'value',
)
const value = fc.constantFrom(
  ...[
    '1',
    '.5',
    '1.5e-3',
    '0xff',
    '$1',
    'null',
    "'it''s -- no'",
    "E'\\n\\''",
    "x'ff'",
    "B'01'",
    "U&'\\0061'",
    '$$a  b$$',
  ],
  ...[
    '$q$ $$ ; \n $q$',
    "'a'\n  'b'",
    "'a' -- c\n'b'",
    "date '2020-01-01'",
    "n'x'",
    "'/* no */'",
    "''",
    '1_000',
    "interval '1' day",
  ],
)
const operator = fc.constantFrom(
  ...[
    '+',
    '-',
    '*',
    '/',
    '<',
    '<-',
    '>=',
    '=-',
    '<>',
    '!=',
    '->',
    '->>',
    '#>>',
    '@>',
    '@-',
    '&&',
    '&&&',
    '||',
    '~*',
    '!~~',
  ],
  ...[
    '<<|',
    '|&>',
    '@@@',
    '<#>',
    'and',
    'or',
    'is distinct from',
    'not like',
    'operator(pg_catalog.=)',
    '::int +',
    '%',
    '?|',
  ],
)

const { expression, query } = fc.letrec<{ expression: string; query: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    name,
    value,
    spaced('(', tie('expression'), operator, tie('expression'), ')'),
    spaced(value, operator, name),
    spaced('(', fc.constantFrom('-', '+', '@', '|/', 'not '), tie('expression'), ')'),
    spaced(
      '(',
      tie('expression'),
      ')',
      '::',
      fc.constantFrom('int', 'text[]', 'numeric(10,2)', 'public.geometry'),
    ),
    spaced(
      fc.constantFrom('count', 'st_within', 'pg_catalog.lower', '"F"', 'coalesce'),
      '(',
      listOf(tie('expression')),
      ')',
    ),
    spaced('count', '(', '*', ')', 'filter', '(', 'where ', tie('expression'), ')'),
    spaced(
      'sum(a)',
      'over',
      '(',
      'partition',
      ' by ',
      tie('expression'),
      ' order',
      ' by a',
      ' rows',
      ' between',
      ' 1',
      ' preceding',
      ' and',
      ' current',
      ' row',
      ')',
    ),
    spaced(
      'case',
      ' when ',
      tie('expression'),
      ' then ',
      tie('expression'),
      ' else ',
      tie('expression'),
      ' end',
    ),
    spaced('array', '[', listOf(tie('expression')), ']', '[', '1', ':', '2', ']'),
    spaced(name, ' between ', value, ' and ', value),
    spaced(name, ' in', '(', fc.oneof(listOf(tie('expression')), tie('query')), ')'),
    spaced('exists', '(', tie('query'), ')'),
  ),
  query: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    spaced('select ', listOf(tie('expression')), ' from', ' t', ' where ', tie('expression')),
    spaced(
      'with ',
      'x',
      ' as',
      ' materialized',
      '(',
      tie('query'),
      ')',
      'select ',
      ' * ',
      ' from',
      ' x',
      ' left',
      ' join',
      ' lateral',
      '(',
      tie('query'),
      ')',
      ' y',
      ' on ',
      tie('expression'),
      ' order',
      ' by ',
      tie('expression'),
      ' desc',
      ' limit',
      ' 3',
    ),
    spaced(
      'select ',
      tie('expression'),
      ' group',
      ' by ',
      listOf(tie('expression')),
      ' having ',
      tie('expression'),
      ' union',
      ' all ',
      tie('query'),
    ),
    spaced('values', '(', listOf(tie('expression')), ')', ',', '(', listOf(tie('expression')), ')'),
  ),
}))

const statement = fc.oneof(
  query,
  spaced(
    'insert',
    ' into',
    ' t',
    '(',
    'a',
    ',',
    'b',
    ')',
    query,
    ' on',
    ' conflict',
    '(',
    'a',
    ')',
    'do',
    ' update',
    ' set',
    ' b',
    '=',
    'excluded',
    '.',
    'b',
    ' returning',
    ' *',
  ),
  spaced('update', ' t', ' set', ' a', '=', expression, ' where ', expression),
  spaced('delete', ' from', ' t', ' using', ' u', ' where ', expression),
  spaced(
    'create',
    ' table',
    ' t',
    '(',
    'a',
    ' int',
    ' primary',
    ' key',
    ',',
    'b',
    ' text',
    ' default',
    " 'x'",
    ' check',
    '(',
    expression,
    ')',
    ')',
  ),
  spaced('grant', ' select', ' on', ' t', ' to', ' x'),
  spaced(
    'create',
    ' function',
    ' f',
    '(',
    ')',
    'returns',
    ' int',
    ' begin',
    ' atomic',
    ' ',
    query,
    ';',
    query,
    ';',
    'end',
  ),
)

test('formatting changes only the spaces between the tokens of generated statements, and no comment or text', async () => {
  let validCount = 0
  let formattedCount = 0
  await fc.assert(
    fc.asyncProperty(fc.array(statement, { minLength: 1, maxLength: 2 }), async (statements) => {
      const text = statements.join(' ; ')
      const isValid = await parse(text).then(
        () => true,
        () => false,
      )
      const formatted = formatSql(text)
      if (isValid) validCount++
      if (isValid && formatted !== undefined) formattedCount++
      if (formatted !== undefined) await assertSame(text, formatted)
    }),
    { numRuns: runs },
  )
  assert.ok(
    validCount > runs / 5 && formattedCount >= 0.9 * validCount,
    `${formattedCount} of ${validCount} valid`,
  )
})

test('Format lays out the statement at the cursor or the selection, and one undo takes it back', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  const first = 'select 1'
  const second = "select a,st_x(b) from t -- why\n where a=:least and b->>'x'<'a  b' and c[1:2]=$1 and d-1>0;"
  const formatted = `select
  a,
  st_x(b)
from
  t -- why
where
  a = :least
  and b ->> 'x' < 'a  b'
  and c[1:2] = $1
  and d - 1 > 0`
  assert.equal(formatSql(second), `${formatted};`)
  assert.deepEqual(
    parametersOf(formatted).map(({ label }) => label),
    parametersOf(second).map(({ label }) => label),
  )
  for (const text of ['select (', '\\d', 'select { 1', 'grant select on t to x'])
    assert.ok([undefined, text].includes(formatSql(text)), text)

  await write(page, `${first};\n${second}`)
  await page.keyboard.press('Control+Shift+F')
  const shown = () =>
    editor(page).evaluate((element) => [...element.children].map((line) => line.textContent).join('\n'))
  await eventually(async () => assert.equal(await shown(), `${first};\n${formatted};`))
  await page.keyboard.press('Control+z')
  await eventually(async () => assert.equal(await shown(), `${first};\n${second}`))
  await page.keyboard.press('Control+y')
  await page.keyboard.press('Control+a')
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Format' }).click()
  await eventually(async () => assert.equal(await shown(), `select\n  1;\n${formatted};`))
  await write(page, 'select (')
  await page.keyboard.press('Control+Shift+F')
  await page.getByText('Not formatted: a statement is incomplete').first().waitFor()
  assert.equal(await shown(), 'select (')
})
