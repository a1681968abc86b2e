import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { beginCartage, cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

const twoPlaces = 'select name, pop from places order by pop desc limit 2'
const table = [
  ' name     │      pop',
  '──────────┼─────────',
  ' Jakarta  │ 41913860',
  ' Dhaka    │ 36585479',
  '',
].join('\n')

test('rows are a table on a terminal and NDJSON in a pipe, and the last line goes to stderr', async (t) => {
  const { me } = await withPlaces(t)
  const terminal = inTerminal(t, me, shellLine('sql', twoPlaces, '--no-progress'))
  assert.equal(await terminal.ended, 0)
  assert.equal(withoutTimes(terminal.shown()), `${table}2 rows, N ms\n`.replaceAll('\n', '\r\n'))
  const piped = await cartage(me, 'sql', twoPlaces)
  assert.deepEqual(piped, {
    code: 0,
    out: '{"name":"Jakarta","pop":41913860}\n{"name":"Dhaka","pop":36585479}\n',
    err: '',
  })
  const asked = await cartage(me, 'sql', twoPlaces, '--format', 'table')
  assert.deepEqual([asked.out, withoutTimes(asked.err)], [table, '2 rows, N ms\n'])
  assert.equal((await cartage(me, 'sql', twoPlaces, '--format', 'table', '--quiet')).err, '')
})

test('every format keeps every digit and distinguishes NULL from an empty text', async (t) => {
  const { me } = await withPlaces(t)
  const query = `select 9007199254740993 as long, 1.50 as "1", null as n, '' as e, E'a\\tb\\nc|d' as t`
  const shown: Record<string, string> = {
    ndjson: '{"long":9007199254740993,"1":1.50,"n":null,"e":"","t":"a\\tb\\nc|d"}\n',
    csv: 'long,1,n,e,t\r\n9007199254740993,1.50,,"","a\tb\nc|d"\r\n',
    tsv: 'long\t1\tn\te\tt\n9007199254740993\t1.50\t\\N\t\ta\\tb\\nc|d\n',
    markdown:
      '| long | 1 | n | e | t |\n| --- | --- | --- | --- | --- |\n| 9007199254740993 | 1.50 | NULL |  | a\tb<br>c\\|d |\n',
    line: '─ 1 ───\nlong │ 9007199254740993\n1    │ 1.50\nn    │ NULL\ne    │ \nt    │ a  b\n     │ c|d\n',
    table: [
      '             long │    1 │ n     │ e  │ t',
      '──────────────────┼──────┼───────┼────┼──────────',
      ' 9007199254740993 │ 1.50 │ NULL  │    │ a  b↵c|d',
      '',
    ].join('\n'),
  }
  for (const [format, expected] of Object.entries(shown)) {
    assert.equal((await cartage(me, 'sql', query, '--format', format)).out, expected, format)
  }
  const { out } = await cartage(me, 'sql', query, '--json')
  assert.ok(out.startsWith(`{"rows":[${shown.ndjson!.trim()}],"time":`), out)
  assert.ok(out.endsWith('}\n'))
})

test('a narrow terminal cuts text with a mark, never numbers, or shows the rows one by one', async (t) => {
  const { me } = await withPlaces(t)
  const query = "select name, pop, repeat('x', 90) as long from places order by pop desc limit 1"
  const wide = inTerminal(t, me, shellLine('sql', query, '--no-progress'))
  await wide.ended
  assert.ok(wide.shown().includes(` Jakarta  │ 41913860 │ ${'x'.repeat(55)}…\r\n`), wide.shown())
  const wider = query.replace('pop,', 'pop, pop as p2,')
  const narrow = inTerminal(t, me, shellLine('sql', wider, '--no-progress'), { columns: 40 })
  await narrow.ended
  assert.ok(
    narrow.shown().startsWith('too wide for a table on this terminal: shown row by row'),
    narrow.shown(),
  )
  assert.ok(narrow.shown().includes(`long │ ${'x'.repeat(90)}\r\n`), narrow.shown())
})

test('a message replaces the progress line', async (t) => {
  const { me } = await withPlaces(t)
  const slow =
    "select pg_sleep(2)::text as slept, pop, pop as p2, repeat('x', 90) as long from places limit 1"
  const terminal = inTerminal(t, me, shellLine('sql', slow), { columns: 40 })
  await terminal.ended
  assert.ok(terminal.shown().includes('\r\x1b[K0 rows  '), terminal.shown())
  assert.ok(terminal.shown().includes('\r\x1b[Ktoo wide for a table'), terminal.shown())
})

test('a misspelt column is marked at its position, in an argument and in a file', async (t) => {
  const { me, folder } = await withPlaces(t)
  const hint = 'hint: Perhaps you meant to reference the column "places.name".\n'
  const misspelt = await cartage(me, 'sql', 'select nam from places')
  assert.deepEqual(misspelt, {
    code: 1,
    out: '',
    err: `error: column "nam" does not exist\n  1 │ select nam from places\n    │        ^^^\n${hint}`,
  })
  const file = join(folder, 'script.sql')
  await writeFile(file, "select 'ä;b' as a;\n\n-- and then\nselect 1,\n  nam from places;\nselect 3")
  const torn = await cartage(me, 'sql', '-f', file)
  assert.deepEqual(torn, {
    code: 1,
    out: '{"a":"ä;b"}\n',
    err: `error: column "nam" does not exist\n  5 │   nam from places;\n    │   ^^^\n${hint}`,
  })
})

test('a file runs statement by statement, and with -1 in one transaction', async (t) => {
  const { me, house } = await withPlaces(t)
  const text = 'create table a as select 1 as id;\nselect 1/0;\n'
  const apart = await beginCartage(me, ['sql'], text).ended
  assert.equal(apart.code, 1)
  assert.equal((await house.user.sql('select * from a')).rowCount, 1)
  const together = await beginCartage(me, ['sql', '-1', '-f', '-'], text.replace('table a', 'table b')).ended
  assert.equal(together.code, 1)
  await assert.rejects(house.user.sql('select * from b'), /does not exist/)
})

test('for a statement beyond the time limit the command suggests a job', async (t) => {
  const house = await setup(t, { config: { queryTimeoutMs: 1_000 } })
  const stopped = await cartage(connection(house), 'sql', "select pg_sleep(60), 'it''s'")
  assert.equal(stopped.code, 3)
  assert.match(
    stopped.err,
    /^error: stopped by the service after \d+\.\d s, by a limit: 1 s without a row \(CARTAGE_QUERY_TIMEOUT_MS\)\. As a job: cartage job run 'select pg_sleep\(60\), '\\''it'\\'''\\''s'\\'''\n$/,
  )
})

test('Ctrl-C ends the statement in the database and exits with code 130', async (t) => {
  const { me, house } = await withPlaces(t)
  const { child, ended } = beginCartage(me, ['sql', 'select pg_sleep(600) /* interrupted */'])
  const running = async () =>
    (
      await house.admin(
        "select 1 from pg_stat_activity where state = 'active' and query like '%/* interrupted */'",
      )
    ).rowCount
  await eventually(async () => assert.equal(await running(), 1), 60_000)
  child.kill('SIGINT')
  assert.deepEqual(await ended, { code: 130, out: '', err: 'interrupted\n' })
  await eventually(async () => assert.equal(await running(), 0))
})

test('a file of rows is complete or absent, and its extension chooses the format', async (t) => {
  const { me, folder } = await withPlaces(t)
  const file = join(folder, 'places.csv')
  assert.equal((await cartage(me, 'sql', twoPlaces, '-o', file)).code, 0)
  assert.equal(await readFile(file, 'utf8'), 'name,pop\r\nJakarta,41913860\r\nDhaka,36585479\r\n')
  const endless = "select repeat('x', 1000) as x, 1/(20000 - n) as y from generate_series(1, 20000) n"
  const torn = await cartage(me, 'sql', endless, '-o', join(folder, 'torn.ndjson'))
  assert.equal(torn.code, 3)
  assert.match(torn.err, /^error: The answer was cut off/)
  assert.deepEqual(await readdir(folder), ['places.csv'])
})

test('sql --analyze is rolled back and changes nothing', async (t) => {
  const { me, house } = await withPlaces(t)
  const plan = await cartage(me, 'sql', 'delete from places', '--analyze', '--format', 'tsv')
  assert.match(plan.out, /Delete on places .*actual time/)
  assert.match(plan.err, /^rolled back/)
  assert.equal((await house.user.sql('select * from places')).rowCount, 2)
  const wrong = await cartage(me, 'sql', 'select nam from places', '--explain')
  assert.match(wrong.err, /\n {4}│ {8}\^\^\^\n/)
})

test('a plan takes exactly one statement, as PostgreSQL counts statements', async (t) => {
  const { me, house } = await withPlaces(t)
  await house.user.sql(
    "create function add_place() returns void language sql as $$ insert into places values ('new', 1) $$",
  )
  // The first two hide their semicolon from a parser that does not know all rules of PostgreSQL.
  const several = [
    "select E'a'\n'\\' || '; delete from places; --'",
    'select 1 as €$$; delete from places; --$$',
    'select 1; delete from places',
    'delete from places; commit',
    ' ;',
  ]
  const others = ['commit', 'analyze delete from places', '(analyze) delete from places']
  for (const flag of ['--explain', '--analyze']) {
    for (const text of several) {
      const { code, out, err } = await cartage(me, 'sql', flag, text)
      assert.deepEqual([code, out], [2, ''], text)
      assert.match(err, /^error: A plan is of one statement, and here are (2|none)\n$/)
    }
    for (const text of others) {
      const { code, out, err } = await cartage(me, 'sql', flag, text)
      assert.deepEqual([code, out], [1, ''], text)
      assert.match(err, /^error: (cannot insert multiple commands|syntax error)/)
    }
  }
  assert.match((await cartage(me, 'sql', '--analyze', 'select add_place();')).out, /actual time/)
  assert.equal((await house.user.sql('select * from places')).rowCount, 2)
})

test('--as runs with the rights of another key, whose grants may come from a file', async (t) => {
  const { me, folder } = await withPlaces(t)
  assert.equal((await cartage(me, 'key', 'create', 'reader', '--read', 'places')).code, 0)
  assert.equal(
    (await cartage(me, 'sql', 'select count(*) as n from places', '--as', 'reader')).out,
    '{"n":2}\n',
  )
  const refused = await cartage(me, 'sql', 'delete from places', '--as', 'reader')
  assert.deepEqual([refused.code, refused.err], [1, 'error: permission denied for table places\n'])
  const grants = join(folder, 'grants.json')
  await writeFile(grants, '[')
  assert.deepEqual(await cartage(me, 'key', 'create', 'writer', '--grants', grants), {
    code: 2,
    out: '',
    err: `error: ${grants} must hold a JSON array of grants\n`,
  })
})

test('a million rows need constant memory, and head ends them without an error', async (t) => {
  const { me, folder } = await withPlaces(t)
  const query = 'select n as id, md5(n::text) as name from generate_series(1, 1000000) n'
  const line = (format: string) => shellLine('sql', query, '--format', format)
  const script = `env time -f %M -o rss ${line('ndjson')} > rows; tail -n 1 rows
    ${line('ndjson')} | head -n 1; ${line('table')} | head -n 3`
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], {
    cwd: folder,
    env: { ...process.env, ...me },
  })
  assert.equal(
    stdout,
    [
      '{"id":1000000,"name":"8155bc545f84d9652f1012ef2bdfb6eb"}',
      '{"id":1,"name":"c4ca4238a0b923820dcc509a6f75849b"}',
      '   id │ name',
      '──────┼──────────────────────────────────',
      '    1 │ c4ca4238a0b923820dcc509a6f75849b\n',
    ].join('\n'),
  )
  assert.equal(stderr, '')
  const rss = Number(await readFile(join(folder, 'rss'), 'utf8'))
  assert.ok(rss > 0 && rss < 120_000, `${rss} KB`)
})

const withoutTimes = (text: string) => text.replace(/\d+ ms/g, 'N ms')

async function withPlaces(t: TestContext) {
  const house = await setup(t)
  await house.user.sql('create table places (name text, pop bigint)')
  await house.user.sql("insert into places values ('Jakarta', 41913860), ('Dhaka', 36585479)")
  return { house, me: connection(house), folder: await mkdtemp(join(tmpdir(), 'cli-')) }
}

test('values are bound by name or position and never become part of the text', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const named = await cartage(
    me,
    'sql',
    "select :town as town, :least::int + 1 as n, ':town' as text",
    '-p',
    "town=L'Aquila'; drop table x",
    '-p',
    'least=41',
  )
  assert.deepEqual(JSON.parse(named.out), { town: "L'Aquila'; drop table x", n: 42, text: ':town' })
  const placed = await cartage(
    me,
    'sql',
    'select $1::int8 as a, $2::int[] as b',
    '--params',
    '[9007199254740993, [1, 2]]',
  )
  assert.equal(placed.out, '{"a":9007199254740993,"b":[1,2]}\n')
  const both = await cartage(
    me,
    'sql',
    'select :a as a, :b as b',
    '--params',
    '{"a": null, "b": "x"}',
    '-p',
    'b=y',
  )
  assert.deepEqual(JSON.parse(both.out), { a: null, b: 'y' })
  const file = await beginCartage(
    me,
    ['sql', '-f', '-', '-p', 'a=1', '-p', 'b=2'],
    'select :a as n;\nselect :b as n',
  ).ended
  assert.equal(file.out, '{"n":"1"}\n{"n":"2"}\n')
})

test('a name without a value and a value without a name are refused before anything runs', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const missing = await beginCartage(
    me,
    ['sql', '-f', '-', '-p', 'a=1'],
    'create table t (n int); select :a, :b',
  ).ended
  assert.deepEqual([missing.code, missing.err], [2, 'error: :b has no value: add -p b=VALUE\n'])
  const unused = await cartage(me, 'sql', 'create table t (n int)', '-p', 'a=1')
  assert.deepEqual([unused.code, unused.err], [2, 'error: there is no :a in the statement\n'])
  await assert.rejects(house.user.sql('select * from t'), /does not exist/)
  for (const wrong of [
    ['-p', 'a'],
    ['--params', '{'],
    ['--params', '1'],
  ])
    assert.equal((await cartage(me, 'sql', 'select 1', ...wrong)).code, 2)
  const marked = await cartage(me, 'sql', 'select :first, nowhere', '-p', 'first=1')
  assert.match(marked.err, / {2}1 │ select :first, nowhere\n {4}│ {16}\^{7}\n/)
})
