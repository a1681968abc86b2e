import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('import creates the table with the types, points and key that the plan shows', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  const file = join(folder, 'quakes.csv')
  const lines = Array.from(
    { length: 1_200 },
    (_, n) => `${n},${n / 10},2026-01-31T10:00:00Z,place ${n},7.${n},46.5`,
  )
  await writeFile(file, `id,magnitude,at,place,lon,lat\n${lines.join('\n')}\n`)
  const imported = await cartage(me, 'import', file)
  assert.equal(imported.code, 0, imported.err)
  assert.match(
    imported.err.replace(/\d[\d.]* (ms|s|KB)/g, 'N'),
    /^quakes\.csv {2}6 columns, 1,200 rows, N\n {2}id bigint · magnitude double precision · at timestamptz · place text · points from lon, lat\nquakes: 1,200 rows in N, prepared for maps in N \(job [0-9a-f-]{36}\)\n$/,
  )
  const { rows } = await house.user.sql(
    'select st_astext(the_geom) as p, magnitude from quakes where id = 12',
  )
  assert.deepEqual(rows, [{ p: 'POINT(7.12 46.5)', magnitude: 1.2 }])

  await writeFile(file, 'name,größe\nä,1\n"a\nb",zwei\n')
  const wrong = await cartage(me, 'import', file, 'torn', '--type', 'größe=bigint')
  assert.equal(wrong.code, 1)
  assert.equal(
    wrong.err.split('\n').slice(2).join('\n'),
    `error: invalid input syntax for type bigint: "zwei"
  ${file}, line 4:
  4 │ "a↵b",zwei
    │       ^^^^
hint: --type größe=text loads the values unchanged.\n`,
  )
  await assert.rejects(house.user.sql('select * from torn'), /does not exist/)
  assert.equal((await cartage(me, 'import', file, 'torn')).code, 0)
  assert.equal((await house.user.sql("select * from torn where größe = 'zwei'")).rowCount, 1)

  const uneven = join(folder, 'uneven.csv')
  await writeFile(uneven, 'id,name\n1,a\n2,b,c\n')
  const refused = await cartage(me, 'import', uneven)
  assert.equal(refused.err, `error: This line has 3 values, not 2.\n  ${uneven}, line 3:\n  3 │ 2,b,c\n`)

  const out = join(folder, 'out.geojson')
  assert.equal((await cartage(me, 'export', 'quakes', '-o', out)).code, 0)
  assert.equal(JSON.parse(await readFile(out, 'utf8')).features.length, 1_200)
  const torn = await cartage(me, 'export', 'select id, 1/(id - 1100) as x from quakes order by id', '-o', out)
  assert.equal(torn.code, 1)
  assert.equal(JSON.parse(await readFile(out, 'utf8')).features.length, 1_200)

  const drawing = join(folder, 'out.dxf')
  const misnamed = await cartage(me, 'export', 'quakes', '-o', drawing)
  assert.equal(misnamed.code, 2)
  assert.match(misnamed.err, /^error: unknown file type \.dxf: use --format, one of csv, /)
  await assert.rejects(readFile(drawing))
  assert.equal((await cartage(me, 'export', 'quakes', '-o', drawing, '--format', 'csv')).code, 0)
})

test('what `--format tsv` wrote is imported with its NULLs and empty texts', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'kept.tsv')
  const rows = `select * from (values (1::bigint, 'x', null::bigint), (2, '', 7), (null, null, 8)) v (id, name, size)`
  assert.equal((await cartage(me, 'sql', rows, '--format', 'tsv', '-o', file)).code, 0)
  const imported = await cartage(me, 'import', file, '--no-prepare')
  assert.match(imported.err, /\n {2}id bigint · name text · size bigint\n/)
  const kept = await house.user.sql('select id, name, size from kept order by id')
  assert.deepEqual(kept.rows, (await house.user.sql(`${rows} order by id`)).rows)
  assert.equal((await cartage(me, 'import', file, 'kept', '--append', '--no-prepare')).code, 0)
  assert.equal((await house.user.sql('select * from kept where name is null')).rowCount, 2)
})

test('a file that import cannot read, and an empty line, are reported as such', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  const blank = join(folder, 'blank.csv')
  await writeFile(blank, 'a,b\n1,2\n\n3,4\n')
  for (const [file, code, sentence] of [
    ['-', 2, 'standard input has no name: give the table too'],
    [blank, 1, 'This line is empty: take it out, PostgreSQL would refuse it.'],
  ] as const) {
    const refused = await cartage(me, 'import', file)
    assert.deepEqual([refused.code, refused.err.split('\n')[0]], [code, `error: ${sentence}`])
  }
})

test('--header and --no-header decide what the first line is, whatever it looks like', async (t) => {
  const me = connection(await setup(t, { worker: true }))
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  const plan = async (text: string, ...flags: string[]) => {
    const file = join(folder, 'years.csv')
    await writeFile(file, text)
    const { err } = await cartage(me, 'import', file, '--dry-run', ...flags)
    return err
      .replace(/, \d+ B/, '')
      .replaceAll('\n', '')
      .replace(/^years\.csv {2}/, '')
  }
  const years = '2020,2021\n1,2\n3,4\n'
  const names = 'ada,bob\neve,mia\n'
  assert.equal(await plan(years), '2 columns, 3 rows  column_1 bigint · column_2 bigint')
  assert.equal(await plan(years, '--header'), '2 columns, 2 rows  _2020 bigint · _2021 bigint')
  assert.equal(await plan(names), '2 columns, 1 row  ada text · bob text')
  assert.equal(await plan(names, '--no-header'), '2 columns, 2 rows  column_1 text · column_2 text')
  assert.match(
    await plan(years, '--append'),
    /--append matches columns by name, and the first line of .+ seems to have no names/,
  )
  assert.equal(await plan(years, '--append', '--header'), '2 columns, 2 rows  _2020 bigint · _2021 bigint')
  assert.equal(await plan(names, '--header', '--no-header'), 'error: give --header or --no-header, not both')
  const file = join(folder, 'names.csv')
  await writeFile(file, names)
  assert.equal((await cartage(me, 'import', file, '--no-header', '--no-prepare')).code, 0)
  const { out } = await cartage(me, 'sql', 'select column_1 from names order by 1')
  assert.equal(out, '{"column_1":"ada"}\n{"column_1":"eve"}\n')
  const point = join(folder, 'point.geojson')
  await writeFile(point, '{"type":"FeatureCollection","features":[]}')
  assert.equal((await cartage(me, 'import', point, '--header')).code, 2)
})

test('a very wide table is created and appended to, with the columns of the file in any order', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'wide.csv')
  const names = Array.from({ length: 700 }, (_, n) => `column_with_a_rather_long_name_${n}`)
  const importRows = async (header: readonly string[], rows: readonly string[], ...flags: string[]) => {
    const lines = [header, ...rows.map((value) => header.map((_, at) => (at === 0 ? value : '""')))]
    await writeFile(file, lines.map((line) => `${line}\n`).join(''))
    const types = ['--type', `${names[0]}=text`, '--type', `${names[699]}=bigint`]
    const { code, err } = await cartage(me, 'import', file, '--no-prepare', ...types, ...flags)
    assert.equal(code, 0, err)
  }
  await importRows(names, ['1', '2'])
  await importRows(names.toReversed(), ['3'], '--append')
  const { rows } = await house.user.sql(
    `select ${names[0]} as first, ${names[699]} as last from wide order by last, first`,
  )
  assert.deepEqual(rows, [
    { first: '', last: '3' },
    { first: '1', last: null },
    { first: '2', last: null },
  ])
})

test('import shows why a column is text, and reads the chosen texts as NULL', async (t) => {
  const { house, me, path } = await setupText(t, 'sizes.csv', `id,size\n${'1,2\n'.repeat(3_000)}4,n/a\n5,-\n`)
  const plain = await cartage(me, 'import', path, '--dry-run')
  assert.match(
    plain.err,
    /\n {2}id bigint · size text\n {2}size is text: “n\/a” in line 3,002 is not a whole number, as the other values\. As NULL: --null n\/a --null -\n$/,
  )
  const loaded = await cartage(me, 'import', path, '--no-prepare', '--null', 'n/a', '--null', '-')
  assert.equal(loaded.code, 0, loaded.err)
  assert.match(loaded.err, /\n {2}id bigint · size bigint\n/)
  const { rows } = await house.user.sql('select id::int, size from sizes where size is null order by id')
  assert.deepEqual(rows, [
    { id: 4, size: null },
    { id: 5, size: null },
  ])
})

test('on a terminal import asks for the order of day and month if the file is ambiguous, and --dates answers it', async (t) => {
  const { house, me, path } = await setupText(t, 'days.csv', 'id,opened\n1,03/04/2026\n2,05/06/2026\n')
  const unasked = await cartage(me, 'import', path, '--dry-run')
  assert.match(
    unasked.err,
    /\n {2}opened is text: “03\/04\/2026” in line 2 may have the day first or the month first: --dates dmy or --dates mdy\n/,
  )
  const terminal = inTerminal(t, me, shellLine('import', path, '--no-prepare'), { columns: 200 })
  const question =
    '“03/04/2026” in line 2 may have the day first or the month first. dmy, mdy or text [text]: '
  await eventually(() => assert.ok(terminal.shown().includes(question), terminal.shown()), 60_000)
  terminal.type('ymd\r')
  await eventually(() => assert.equal(terminal.shown().split(question).length, 3, terminal.shown()), 60_000)
  terminal.type('dmy\r')
  assert.equal(await terminal.ended, 0, terminal.shown())
  assert.ok(terminal.shown().includes('opened date (day first)'), terminal.shown())
  const told = await cartage(me, 'import', path, 'us', '--no-prepare', '--dates', 'mdy')
  assert.equal(told.code, 0, told.err)
  const { rows } = await house.user.sql(
    'select days.opened::text as dmy, us.opened::text as mdy from days join us using (id) order by id',
  )
  assert.deepEqual(rows[0], { dmy: '2026-04-03', mdy: '2026-03-04' })
  assert.equal((await cartage(me, 'import', path, '--dates', 'ymd')).code, 2)
})

test('numbers with a decimal comma and times without a zone keep their meaning', async (t) => {
  const csv = 'name;price;at\na;1.234,50;2026-01-31 10:00\nb;-0,5;2026-01-31T11:30:00\n'
  const { house, me, path } = await setupText(t, 'prices.csv', csv)
  const loaded = await cartage(me, 'import', path, '--no-prepare')
  assert.equal(loaded.code, 0, loaded.err)
  assert.match(loaded.err, /name text · price double precision \(decimal comma\) · at timestamp\n/)
  const { rows } = await house.user.sql('select price, at::text from prices order by name')
  assert.deepEqual(rows, [
    { price: 1234.5, at: '2026-01-31 10:00:00' },
    { price: -0.5, at: '2026-01-31 11:30:00' },
  ])
})

test('dates, times, arrays and any text are imported from `--format tsv` unchanged', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const file = join(await mkdtemp(join(tmpdir(), 'import-')), 'whole.tsv')
  const rows = `select 1 as id, date '2026-01-31' as day, timestamp '2026-01-31 10:00:00.5' as at,
    timestamptz '2026-01-31 10:00:00+02' as zoned, array[1,2,null]::bigint[] as counts, array['a b','c,"d'] as names,
    array[1.5,2]::float8[] as sizes, E'tab\\tline\\nback\\\\slash' as note
    union all select 2, null, null, null, '{}', null, null, null`
  const written = await cartage(me, 'sql', rows, '--format', 'tsv', '-o', file)
  assert.equal(written.code, 0, written.err)
  const imported = await cartage(me, 'import', file, '--no-prepare')
  assert.equal(imported.code, 0, imported.err)
  assert.match(
    imported.err,
    /day date · at timestamp · zoned timestamptz · counts bigint\[\] · names text\[\] · sizes double precision\[\] · note text\n/,
  )
  const kept = await house.user.sql('select * from whole order by id')
  assert.deepEqual(
    kept.rows,
    (
      await house.user.sql(
        `select id::bigint, day, at, zoned, counts, names, sizes, note from (${rows}) r order by id`,
      )
    ).rows,
  )
})

async function setupText(t: Parameters<typeof setup>[0], name: string, text: string) {
  const house = await setup(t, { worker: true })
  const path = join(await mkdtemp(join(tmpdir(), 'import-')), name)
  await writeFile(path, text)
  return { house, me: connection(house), path }
}
