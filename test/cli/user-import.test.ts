import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('a file becomes a table with types, points and a key, by the lines that the plan shows', async (t) => {
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

  const parquet = join(folder, 'out.parquet')
  const misnamed = await cartage(me, 'export', 'quakes', '-o', parquet)
  assert.equal(misnamed.code, 2)
  assert.match(misnamed.err, /^error: unknown file type \.parquet: use --format, one of csv, /)
  await assert.rejects(readFile(parquet))
  assert.equal((await cartage(me, 'export', 'quakes', '-o', parquet, '--format', 'csv')).code, 0)
})

test('what `--format tsv` wrote is imported with its NULLs and its empty texts', async (t) => {
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

test('what import does not read, and an empty line, are told as that', async (t) => {
  const house = await setup(t)
  const me = connection(house)
  const folder = await mkdtemp(join(tmpdir(), 'import-'))
  const inLines = join(folder, 'x.ndjson')
  await writeFile(inLines, '{"a":1}\n{"a":2}\n')
  const blank = join(folder, 'blank.csv')
  await writeFile(blank, 'a,b\n1,2\n\n3,4\n')
  for (const [file, code, sentence] of [
    ['-', 2, 'standard input can be read only once, and import reads twice: save it to a file'],
    [
      inLines,
      2,
      `${inLines}: import reads CSV, TSV and GeoJSON in one document (.geojson, .json), not this type`,
    ],
    [blank, 1, 'This line is empty: take it out, PostgreSQL would refuse it.'],
  ] as const) {
    const refused = await cartage(me, 'import', file)
    assert.deepEqual([refused.code, refused.err.split('\n')[0]], [code, `error: ${sentence}`])
  }
})

test('--header and --no-header say what the first line is, whatever it looks like', async (t) => {
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

test('a very wide table is made and appended to, whatever the order of the columns in the file', async (t) => {
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
