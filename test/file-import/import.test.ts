import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quoteLiteral, quoteName, quoteShell, shownName } from '../../src/contract/text/quote.ts'
import { type CsvDialect, guessDialect, readHead } from '../../src/file-import/csv-head.ts'
import { encodings } from '../../src/file-import/encodings.ts'
import { geojsonDialect, geojsonToCsv } from '../../src/file-import/geojson-csv.ts'
import {
  columnNames,
  findPoints,
  type ImportPlan,
  importStatements,
  tableName,
} from '../../src/file-import/import-plan.ts'
import { type Inference, TypeInference } from '../../src/file-import/infer-types.ts'
import { isRewritten, rewriteRows } from '../../src/file-import/rewrite-rows.ts'
import { copyfrom } from '../support/postgres/copying.ts'
import { setup } from '../support/service/setup.ts'

const comma: CsvDialect = { delimiter: ',', quote: '"', hasHeader: true, encoding: 'UTF8' }

test('COPY accepts every value in the type inferred for its column, unchanged', async (t) => {
  const { user } = await setup(t)
  let number = 0
  await fc.assert(
    fc.asyncProperty(file, fc.array(fc.nat(200)), async ({ rows, dialect }, lengths) => {
      const csv = Buffer.from(written(rows, dialect))
      const { columns, rows: count, badLine, hasNullMark } = infer(csv, dialect, lengths)
      assert.equal(badLine, undefined)
      assert.equal(count, rows.length)
      const named = columns.map((column, at) => ({ ...column, name: `c${at}` }))
      const plan: ImportPlan = {
        table: `t${number++}`,
        isNew: true,
        columns: named,
        dialect,
        hasNullMark,
        isPrepared: false,
      }
      const { create, copy } = importStatements(plan)
      await user.sql(create!)
      const sent = isRewritten(plan) ? Buffer.concat(await all(rewriteRows(chunks(csv, lengths), plan))) : csv
      const { body } = await copyfrom(user, copy, sent)
      assert.equal(body.total_rows, rows.length, JSON.stringify(body))
      const texts = named.flatMap(({ type, name }, at) => (type === 'text' ? [{ name, at }] : []))
      if (texts.length === 0) return
      const { rows: stored } = await user.sql(`select ${texts.map(({ name }) => name)} from ${plan.table}`)
      assert.deepEqual(
        stored.map((row: object) => Object.values(row)),
        rows.map((row) => texts.map(({ at }) => row[at])),
      )
    }),
    { numRuns: 25 },
  )
})

test('the most specific type that fits all values is chosen, and its reason names the value that ruled out another', () => {
  const types: [values: string[], type: string, reason: RegExp][] = [
    [['1', '-9223372036854775808'], 'bigint', /^Each of 2 values is a whole number$/],
    [['9223372036854775808'], 'numeric', /more digits than double precision keeps/],
    [['1', '2.50', '1e5', 'NaN'], 'double precision', /^Each of 4 values is a number$/],
    [['51.47706400000001', '-0.1'], 'double precision', /number/],
    [['0.12345678901234567891'], 'numeric', /digits/],
    [['1', '007'], 'text', /“007” in line 3 would lose its zero/],
    [['1', 'x'], 'text', /“x” in line 3 is not a whole number, as the values before it/],
    [['n/a', '1'], 'text', /“n\/a” in line 2 is not a whole number, as the other values/],
    [['yes', 'No', 'TRUE'], 'bool', /yes or no/],
    [['2024-02-29'], 'date', /a day/],
    [['2024-02-29', '2024-02-29 10:00:00.5+01'], 'timestamptz', /without a zone it is UTC/],
    [['2023-02-29'], 'text', /is text/],
    [['2024-02-29 10:00', '2024-02-29'], 'timestamp', /a time without a zone/],
    [['31.12.2024'], 'date', /a date with the day first/],
    [['1.234,5', '7'], 'double precision', /a number with a decimal comma/],
    [['1,234.5', '7'], 'double precision', /a number with commas between thousands/],
    [['1,234'], 'text', /“1,234” in line 2 may have a decimal comma, or separators of thousands/],
    [['192.168.100.101'], 'text', /may have a decimal comma/],
    [['030 123 456', '555 123 456'], 'text', /is text/],
    [['03/04/2026'], 'text', /“03\/04\/2026” in line 2 may have the day first or the month first/],
    [['{1,2,NULL}', '{}'], 'bigint[]', /an array of whole numbers/],
    [['{a,b}'], 'text', /is text/],
    [['f81d4fae-7dec-11d0-a765-00a0c91e6bf6'], 'uuid', /UUID/],
    [['{"a":[1]}', '[]'], 'json', /JSON/],
    [['POINT(1 2)', 'SRID=4326;POLYGON((0 0,0 1,1 1,0 0))'], 'geometry', /geometry/],
    [['0101000000000000000000F03F0000000000000040'], 'geometry', /geometry/],
    [['', ''], 'text', /There is no value/],
  ]
  for (const [values, type, reason] of types) {
    const { columns } = infer(
      Buffer.from(
        written(
          values.map((value) => [value || null]),
          comma,
        ),
      ),
      comma,
    )
    assert.equal(columns[0]!.type, type, values.join())
    assert.match(columns[0]!.reason, reason)
  }
})

test("a line that COPY refuses is reported before it is sent, with COPY's line number", async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (a text, b text)')
  for (const [text, line] of [
    ['a,b\n1,2\n"3\n",4\n5,6,7\n', 5],
    ['a,b\r\n1,2\r\n3,4\n5,6\r\n', 3],
    ['a,b\n1,2\n\n', 3],
    ['a,b\n1,2\n"3,4\n5,6\n', 3],
  ] as const) {
    const { badLine } = infer(Buffer.from(text), comma)
    assert.equal(badLine?.line, line, text)
    const { body } = await copyfrom(
      user,
      'COPY t FROM STDIN WITH (FORMAT csv, HEADER true)',
      Buffer.from(text),
    )
    const named = Number(/line (\d+)/.exec(String(body.context))![1])
    // An open quote is reported where it starts, not where the file ends.
    assert.ok(named === line || /never closed/.test(badLine!.message), `${body.context} ${text}`)
  }
})

test('the format of a file is detected from its beginning', () => {
  const of = (text: string | Uint8Array) => guessDialect(typeof text === 'string' ? Buffer.from(text) : text)
  assert.deepEqual(of('no,t\n1,"a, b"\n'), comma)
  assert.deepEqual(of('\ufeffid;name;x\n1;"a,b,c";\n2;c;\n'), { ...comma, delimiter: ';' })
  assert.deepEqual(of('id\tinches\n1\t5"\n2\t7\n3\t8\n'), { ...comma, delimiter: '\t', quote: '' })
  assert.deepEqual(of('id\tdoc\n1\t{"a":1}\n'), { ...comma, delimiter: '\t', quote: '' })
  assert.deepEqual(of('id\tdoc\n1\t\\N\n'), { ...comma, delimiter: '\t', quote: '', isCopyText: true })
  assert.deepEqual(of('id\tdoc\n1\t"a b"\n'), { ...comma, delimiter: '\t' })
  assert.deepEqual(of('1|2024-01-01\n2|2024-01-02\n'), { ...comma, delimiter: '|', hasHeader: false })
  // pandas writes its index like this.
  assert.deepEqual(of(',a,b\n0,1,x\n1,2,y\n'), comma)
  assert.deepEqual(of(',,b\n0,1,x\n'), { ...comma, hasHeader: false })
  // An unclosed quotation mark is an error to report, not a format.
  assert.deepEqual(of('a,b\n1,"unclosed\n2,3\n'), comma)
  const latin = Buffer.from('ort,n\nKöln,1\n', 'latin1')
  assert.deepEqual(of(latin), { ...comma, encoding: 'WIN1252' })
  assert.deepEqual(readHead(latin, of(latin)), [
    ['ort', 'n'],
    ['Köln', '1'],
  ])
  assert.deepEqual(readHead(Buffer.from('a,b\n,""\n'), comma)[1], [null, ''])
  for (const label of Object.values(encodings)) new TextDecoder(label)
})

test('any header and any file name become names that PostgreSQL accepts unchanged', async (t) => {
  const { user } = await setup(t)
  let number = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 80 }), { minLength: 1, maxLength: 60, size: 'max' }),
      async (header) => {
        const names = columnNames(header)
        const table = `${tableName(header[0]!).slice(0, 20)}_${number++}`
        const columns = names.map((name) => ({ name, type: 'text', hasQuotedEmpty: false }))
        const { create } = importStatements({
          table,
          isNew: true,
          columns,
          dialect: comma,
          isPrepared: false,
        })
        await user.sql(create!)
        const { rows } = await user.sql(
          'select array_agg(attname::text order by attnum) from pg_attribute where attrelid = $1::regclass and attnum > 0',
          [quoteName(table)],
        )
        assert.deepEqual(rows[0].array_agg, names)
      },
    ),
    { numRuns: 5 },
  )
  assert.equal(tableName('/tmp/Erdbeben 2024.csv.gz'), 'erdbeben_2024')
  assert.deepEqual(columnNames(['ID', 'Id', 'xmin', '1st', null, 'Größe (m)']), [
    'id',
    'id_2',
    'xmin_2',
    '_1st',
    'column_5',
    'größe_m',
  ])
})

test('names and values stay literal in SQL and in a shell, whatever they contain', async (t) => {
  const { user } = await setup(t)
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter((each) => !/[\0\ud800-\udfff]/u.test(each))
  const pairs = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 60, size: 'max' })
  await fc.assert(
    fc.asyncProperty(pairs, async (all) => {
      const columns = all.map(([name, value], at) => [`${name}${at}`, value] as const)
      const selected = columns.map(
        ([name, value], at) => `${quoteLiteral(value)} as ${(at % 2 ? quoteName : shownName)(name)}`,
      )
      const { rows } = await user.sql(`select ${selected}`)
      assert.deepEqual(rows, [Object.fromEntries(columns)])
    }),
    { numRuns: 5 },
  )
  const { rows: words } = await user.sql('select word from pg_get_keywords()')
  await user.sql(
    `create table words (${words.map(({ word }: { word: string }) => `${shownName(word)} int`)})`,
  )
  assert.equal(quoteShell("it's"), "'it'\\''s'")
})

test('points are made from longitude and latitude, in a new table and in an existing one', async (t) => {
  const { user } = await setup(t)
  const columns = ['name', 'lat', 'lon'].map((name, at) => ({
    name,
    type: at === 0 ? 'text' : 'double precision',
    hasQuotedEmpty: true,
  }))
  const points = findPoints(columns)
  assert.deepEqual(points, { lon: 'lon', lat: 'lat' })
  for (const isNew of [true, false]) {
    const plan: ImportPlan = {
      table: 'places',
      isNew,
      columns,
      dialect: { ...comma, hasHeader: false },
      points,
      isPrepared: isNew,
    }
    const { create, copy, after } = importStatements(plan)
    if (create) await user.sql(create)
    const csv = Buffer.from('Dhaka,23.8,90.4\nnowhere,"",\n')
    const sent = isRewritten(plan) ? Buffer.concat(await all(rewriteRows(chunks(csv, []), plan))) : csv
    assert.equal((await copyfrom(user, copy, sent)).body.total_rows, 2)
    for (const statement of after) await user.sql(statement)
  }
  const { rows } = await user.sql(
    'select ST_AsText(the_geom) as at, ST_X(the_geom_webmercator)::int as x from places order by cartodb_id',
  )
  const dhaka = { at: 'POINT(90.4 23.8)', x: 10063282 }
  assert.deepEqual(rows, [dhaka, { at: null, x: null }, dhaka, { at: null, x: null }])
})

test('the points of rows for a table that is there are those that PostGIS makes, in every form of a file', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table p (lon numeric, lat float8, t text, the_geom geometry(Geometry,4326))')
  const column = (name: string, type: string, form?: 'comma') => ({ name, type, form, hasQuotedEmpty: false })
  const columns = [column('lon', 'numeric', 'comma'), column('lat', 'double precision'), column('t', 'text')]
  const wanted = { table: 'p', isNew: false, columns, points: { lon: 'lon', lat: 'lat' }, isPrepared: false }
  const files: [text: string, change: Partial<ImportPlan>, rows: number][] = [
    ['a;b;c\n1,5;-2e1;"x;y"\n"0,1";7;\n;7;z\n', { dialect: { ...comma, delimiter: ';' } }, 3],
    [
      '1.5\t-20\t\\N\n\\N\t7\tx\n',
      { dialect: { ...comma, delimiter: '\t', quote: '', hasHeader: false, isCopyText: true } },
      2,
    ],
    ['1,5|-|x\n-|3|y\n', { dialect: { ...comma, delimiter: '|', hasHeader: false, nulls: ['-'] } }, 2],
    ['1|\\N|x\n', { hasNullMark: true, dialect: { ...comma, delimiter: '|', hasHeader: false } }, 1],
    ['NaN|3|x\n', { dialect: { ...comma, delimiter: '|', hasHeader: false } }, 1],
  ]
  for (const [text, change, count] of files) {
    const plan: ImportPlan = { ...wanted, dialect: comma, ...change }
    const sent = Buffer.concat(await all(rewriteRows(chunks(Buffer.from(text), [5, 9]), plan)))
    const { body } = await copyfrom(user, importStatements(plan).copy, sent)
    assert.equal(body.total_rows, count, `${text} ${JSON.stringify(body)}`)
  }
  const { rows } = await user.sql(
    `select lon, lat, st_astext(the_geom) from p where st_setsrid(st_makepoint(nullif(lon, 'NaN'), lat), 4326) is distinct from the_geom`,
  )
  assert.deepEqual(rows, [])
  assert.equal((await user.sql('select from p where the_geom is not null')).rowCount, 3)
})

test('GeoJSON becomes rows with every digit and every geometry', async (t) => {
  const { user } = await setup(t)
  const shapes = [
    '{"type":"Point","coordinates":[1.5,-2,7]}',
    '{"type":"MultiPolygon","coordinates":[[[[0,0],[0,1],[1,1],[0,0]]]]}',
    '{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[1e-7,1]]}]}',
    'null',
  ]
  const features = shapes.map(
    (shape, at) =>
      `{"type":"Feature","id":${at},"geometry":${shape},"properties":{"big":90071992547409931${at},"t":"a \\"b\\",\\n","o":{"x": [1.0]}${at ? ',"late":""' : ''}}}`,
  )
  const csv = Buffer.from(
    [
      ...geojsonToCsv(
        `{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"features":[${features.join(' ,\n')}]}`,
      ),
    ].join(''),
  )
  const { columns } = infer(csv, geojsonDialect)
  const names = columnNames(readHead(csv, geojsonDialect)[0]!)
  assert.deepEqual(
    columns.map(({ type }, at) => `${names[at]} ${type}`),
    ['the_geom geometry', 'id bigint', 'big bigint', 't text', 'o json', 'late text'],
  )
  const { create, copy } = importStatements({
    table: 'g',
    isNew: true,
    columns: columns.map((column, at) => ({ ...column, name: names[at]! })),
    dialect: geojsonDialect,
    isPrepared: false,
  })
  await user.sql(create!)
  assert.equal((await copyfrom(user, copy, csv)).body.total_rows, 4)
  const { rows } = await user.sql(
    'select ST_AsEWKT(the_geom) as g, big::text, t, o::text, late from g order by id',
  )
  assert.deepEqual(rows[0], {
    g: 'SRID=4326;POINT(1.5 -2 7)',
    big: '900719925474099310',
    t: 'a "b",\n',
    o: '{"x": [1.0]}',
    late: null,
  })
  assert.deepEqual(
    rows.map(({ g }: { g: string | null }) => g?.slice(10, 20)),
    ['POINT(1.5 ', 'MULTIPOLYG', 'GEOMETRYCO', undefined],
  )
  assert.equal(rows[1].late, '')
  for (const bad of [
    '[]',
    '{"type":"Topology"}',
    '{"type":"FeatureCollection","features":[{"a":]}',
    '{"type":"FeatureCollection","features":[]}',
  ]) {
    assert.throws(() => [...geojsonToCsv(bad)], { name: 'GeojsonError' })
  }
})

/** Columns almost of one kind: most values are, some columns have one that is not. */
const kinds = [
  fc.constantFrom('true', 'F', 'yes', 'NO', ' t '),
  fc.oneof(
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
    fc.integer().map(String),
    fc.constantFrom('-0', '0', ' 7', '+5', '-9223372036854775808', '9223372036854775808'),
  ),
  fc.oneof(
    fc.double().map(String),
    fc.tuple(fc.bigInt(), fc.nat(), fc.integer({ min: -400, max: 400 })).map(([a, b, c]) => `${a}.${b}e${c}`),
    fc.constantFrom('.5', '5.', '-inf', 'NaN', '1e400', '1.', '1e', '-', '.'),
  ),
  fc.oneof(
    fc.constantFrom('2023-02-29', '1900-02-29', '2024-02-30', '2024-04-31', '0000-01-01', '2024-1-01'),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    fc
      .tuple(fc.nat(9999), fc.nat(13), fc.nat(32))
      .map((parts) => parts.map((part, at) => String(part).padStart(at ? 2 : 4, '0')).join('-')),
  ),
  fc
    .tuple(
      fc.constantFrom('2024-02-29', '1900/01/31', '0001-01-01', '9999-12-31'),
      fc.constantFrom('T', ' '),
      fc.constantFrom('00:00', '23:59:59', '10:00:00.123456789', '24:00', '10:60', '1:00', '10:00:00.'),
      fc.constantFrom('', 'Z', '+14', '-0330', '+05:30', ' UTC', ' +01', '+16', 'z'),
    )
    .map((parts) => parts.join('')),
  fc.oneof(
    fc.constantFrom('1,5', '1.234,5', '1.234', '1 234,50', '-2,44270', '0,5', '00,5', '1.23,4', '1\u00a0234'),
    fc.nat().map((number) => String(number).replace(/(\d)(?=(\d{3})+$)/g, '$1.')),
  ),
  fc.constantFrom(
    '1,234',
    '1,234,567.25',
    '12',
    '0.5',
    "1'234.5",
    '1e5',
    'NaN',
    '12,34',
    '999999999999999999999',
  ),
  fc
    .tuple(
      fc.integer({ min: 0, max: 32 }),
      fc.constantFrom('/', '.', '-'),
      fc.integer({ min: 0, max: 13 }),
      fc.constantFrom('2024', '1900', '0001', '24'),
      fc.constantFrom('', '', ' 9:05', ' 23:59:59', ' 12:00 AM', ' 24:00'),
    )
    .map(([a, sign, b, year, time]) => `${a}${sign}${b}${sign}${year}${time}`),
  fc.oneof(
    fc.array(fc.oneof(fc.integer().map(String), fc.constant('NULL'))).map((each) => `{${each}}`),
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)).map((each) => `{${each}}`),
    fc.constantFrom('{a b,c}', '{"a,\\"b",c}', '{}', '{ a}', '{a,}', '{{1},{2}}', '{"a"b}', '{null}'),
  ),
  fc.constantFrom('n/a', '-', '1', 'NULL', '?'),
  fc.oneof(
    fc.uuid(),
    fc.uuid().map((id) => id.toUpperCase()),
    fc.uuid().map((id) => `${id} `),
  ),
  fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.json().map((text) => `[${text}]`),
    fc.constantFrom('{', '{"a":1}', "{'a':1}", '["\\ud800"]', '{"a":"\\u0000"}', '[01]'),
  ),
  fc.oneof(
    fc
      .constantFrom(
        'POINT',
        'point z',
        'LINESTRING',
        'POLYGON',
        'MULTIPOINT',
        'MULTIPOLYGON',
        'GEOMETRYCOLLECTION',
        'SRID=3857;POINTM',
      )
      .chain((type) =>
        fc
          .constantFrom(
            '(1 2)',
            '(1 2 3)',
            '(0 0,1 1)',
            '((0 0,0 1,1 1,0 0))',
            '((0 0,0 1,1 1))',
            '((1 2),(3 4))',
            '(((0 0,0 1,1 1,0 0),(0 0, 1 1, 2 2, 0 0)))',
            '(POINT(1 2),LINESTRING(0 0,1 1))',
            ' EMPTY',
            '(1e3 -.5)',
            '(nan 1)',
            '()',
          )
          .map((body) => type + body),
      ),
    fc.constantFrom(
      '01010000000000000000',
      '0101000000000000000000F03F0000000000000040',
      '0101000020E6100000000000000000F03F0000000000000040',
      '010700000000000000',
      '01030000000100000003000000',
      '000000000140000000000000004010000000000000',
    ),
  ),
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\n', '\r', ' ', 'a', '\\', '.', "'", 'é', '\u{1f30d}') }),
]

const table = fc
  .array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 40, size: 'max' })
  .chain((columns) =>
    fc.array(fc.tuple(...columns.map((kind) => fc.option(kind, { freq: 4 }))), {
      minLength: 1,
      maxLength: 4,
    }),
  )
const file = fc.record({
  rows: table as fc.Arbitrary<(string | null)[][]>,
  dialect: fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    quote: fc.constant('"'),
    hasHeader: fc.boolean(),
    encoding: fc.constant('UTF8'),
  }) as fc.Arbitrary<CsvDialect>,
})

function written(
  rows: readonly (readonly (string | null)[])[],
  { delimiter, hasHeader }: CsvDialect,
): string {
  const cell = (value: string | null) => {
    if (value === null) return ''
    return value === '' || value === '\\.' || /["\r\n,;|\t]/.test(value)
      ? `"${value.replaceAll('"', '""')}"`
      : value
  }
  const header = hasHeader ? [rows[0]!.map((_, at) => `c${at}`)] : []
  return [...header, ...rows].map((row) => `${row.map(cell).join(delimiter)}\n`).join('')
}

function infer(csv: Uint8Array, dialect: CsvDialect, lengths: readonly number[] = []): Inference {
  const inference = new TypeInference(dialect)
  for (const chunk of pieces(csv, lengths)) inference.push(chunk)
  inference.end()
  return inference.result
}

function pieces(csv: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let at = 0
  return [...lengths, csv.length].map((length) => {
    at += length
    return csv.subarray(at - length, at)
  })
}

async function* chunks(csv: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  yield* pieces(csv, lengths)
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
