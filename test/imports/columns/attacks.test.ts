import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import {
  type DataType,
  Dictionary,
  Field,
  Int32,
  List,
  makeData,
  Null,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import { columnFile, parquetOf } from '../../support/imports/column-files.ts'
import { setupImports } from '../../support/imports/import-api.ts'
import { eventually } from '../../support/service/setup.ts'

/** A table of one column, with a length that may be wrong. */
function tableOf(type: DataType, length: number, data: object): Table {
  const schema = new Schema([new Field('a', type, true)])
  const child = makeData({ type, length, nullCount: 0, ...data } as Parameters<typeof makeData>[0])
  const all = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children: [child] })
  return new Table(schema, [new RecordBatch(schema, all)])
}

const nested = (depth: number): DataType =>
  depth === 0 ? new Int32() : new List(new Field('item', nested(depth - 1), true))

/** Replaces a number in the file. */
function patched(file: Buffer, from: number, to: number): Buffer {
  const [old, changed] = [Buffer.alloc(4), Buffer.alloc(4)]
  old.writeInt32LE(from)
  changed.writeInt32LE(to)
  const copy = Buffer.from(file)
  for (let at = copy.indexOf(old); at >= 0; at = copy.indexOf(old, at + 4)) changed.copy(copy, at)
  return copy
}

const readers = async () => {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')
    if (line.includes('read-columns')) found.push(line)
  }
  return found
}

/** The list of batches at the end of an Arrow file points to the schema instead of the first batch. */
function withoutBatch(file: Buffer): Buffer {
  const copy = Buffer.from(file)
  const isMessage = (at: number) => at > 1000 && at < copy.length - 4 && copy.readInt32LE(at) === -1
  for (let at = copy.length - 6000; at < copy.length - 16; at++) {
    if (!isMessage(Number(copy.readBigInt64LE(at)))) continue
    copy.writeBigInt64LE(8n, at)
    return copy
  }
  throw new Error('the file has no list of batches')
}

type Case = readonly [name: string, content: Buffer, code: number, text: RegExp]

function badFiles(): readonly Case[] {
  const parquet = columnFile('pyarrow.parquet')
  const numbers = Buffer.from(
    tableToIPC(
      new Table({
        a: vectorFromArray(
          Array.from({ length: 1234 }, (_, n) => n),
          new Int32(),
        ),
      }),
      'stream',
    ),
  )
  const billion = Buffer.from(tableToIPC(tableOf(new Null(), 1_000_000_000, {}), 'stream'))
  const words = new Dictionary(new Utf8(), new Int32())
  const outside = tableOf(words, 2, {
    data: new Int32Array([0, 7]),
    dictionary: vectorFromArray(['x'], new Utf8()),
  })
  const notText = tableOf(new Utf8(), 1, {
    valueOffsets: new Int32Array([0, 2]),
    data: new Uint8Array([0xc3, 0x28]),
  })
  const footer = Buffer.from(parquet)
  footer.writeUInt32LE(0xfffffff0, footer.length - 8)
  return [
    ['billion.parquet', columnFile('billion-rows.parquet.gz'), 6666, /more than \d+ bytes/],
    ['billion.arrow', billion, 6666, /more than \d+ bytes/],
    ['bomb.parquet', columnFile('bomb.parquet.gz'), 6666, /memory/],
    ['bomb.feather', columnFile('bomb.feather.gz'), 6666, /memory/],
    [
      'deep.arrow',
      Buffer.from(tableToIPC(new Table(new Schema([new Field('a', nested(60), true)]), []), 'stream')),
      0,
      /^$/,
    ],
    ['rows.arrow', patched(numbers, 1234, 1_000_000_000), 2001, /broken/],
    ['length.arrow', patched(numbers, 1234 * 4, 0x7fffff00), 2001, /./],
    [
      'outside.arrow',
      Buffer.from(tableToIPC(outside, 'stream')),
      2001,
      /dictionary lacks a value in column a, row 2/,
    ],
    ['text.arrow', Buffer.from(tableToIPC(notText, 'stream')), 2006, /not UTF-8 in column a, row 1/],
    ['cut.arrow', numbers.subarray(0, numbers.length - 8), 2001, /no end/],
    ['cut-file.arrow', columnFile('pyarrow.arrow').subarray(0, 9000), 2001, /./],
    ['circle.arrow', withoutBatch(columnFile('pyarrow.arrow')), 2001, /./],
    ['footer.parquet', footer, 2001, /./],
    ['cut.parquet', parquet.subarray(0, parquet.length - 100), 2001, /./],
    ['head.parquet', Buffer.from('PAR1 and no more than this'), 2001, /./],
    ['name.parquet', Buffer.from('ARROW1 in disguise'), 1002, /Supported/],
    ['none.arrow', Buffer.from(tableToIPC(new Table(new Schema([]), []), 'stream')), 2001, /no columns/],
  ]
}

test('columnar files that are bombs or claim more than they hold are refused and store nothing', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t, { importMemoryBytes: 700 * 1024 ** 2 })
  for (const [name, content, code, text] of badFiles()) {
    const failed = await load(name, content)
    assert.equal(failed.error_code ?? 0, code, `${name}: ${JSON.stringify(failed.get_error_text)}`)
    assert.match(failed.get_error_text?.what_about ?? '', text, name)
    assert.doesNotMatch(failed.get_error_text?.what_about ?? '', /\/(program|work|src|tmp|dev)\//, name)
    if (code !== 0) assert.deepEqual(failed.table_names, [], name)
  }
  const { rows } = await user.sql(
    `select relname from pg_class where relnamespace = '${user.account.schema}'::regnamespace and relkind = 'r'`,
  )
  assert.deepEqual(rows, [{ relname: 'deep' }])
  await nothingLeft()
  await eventually(async () => assert.deepEqual(await readers(), []))
})

test('values nested deeper than 50 levels are refused', async (t) => {
  const { load } = await setupImports(t)
  const depth = 60
  let type = nested(0)
  let data = makeData({
    type: new Int32(),
    length: 1,
    nullCount: 0,
    data: new Int32Array([1]),
  }) as ReturnType<typeof makeData>
  for (let level = 0; level < depth; level++) {
    type = new List(new Field('item', type, true))
    data = makeData({
      type: type as List,
      length: 1,
      nullCount: 0,
      valueOffsets: new Int32Array([0, 1]),
      child: data,
    } as never)
  }
  const schema = new Schema([new Field('a', type, true)])
  const all = makeData({ type: new Struct(schema.fields), length: 1, nullCount: 0, children: [data] })
  const failed = await load(
    'deep.arrow',
    Buffer.from(tableToIPC(new Table(schema, [new RecordBatch(schema, all)]), 'stream')),
  )
  assert.equal(failed.error_code, 2001)
  assert.match(failed.get_error_text!.what_about, /nested more than 50 deep/)
})

test('names of columns that are SQL, paths or options are only names', async (t) => {
  const { load, user } = await setupImports(t)
  const evil = [
    '"; drop table users; --',
    "x'); select 1; --",
    'a";\nCOMMIT;\n',
    '\\.',
    'cartage_geometry',
    'cartage_fid',
    '',
    'select',
  ]
  const columns = Object.fromEntries(evil.map((name, n) => [name, vectorFromArray([n], new Int32())]))
  for (const file of ['evil.parquet', 'evil.arrow']) {
    const table = new Table(columns)
    const done = await load(
      file,
      file.endsWith('parquet') ? parquetOf(table) : Buffer.from(tableToIPC(table, 'file')),
    )
    assert.equal(done.get_error_text, null, file)
    const { rows } = await user.sql(`select to_jsonb(t) as row from ${done.table_name} t`)
    const { cartodb_id: _, the_geom, the_geom_webmercator, ...values } = rows[0].row
    assert.deepEqual(Object.values(values).sort(), [0, 1, 2, 3, 4, 5, 6, 7])
    for (const name of Object.keys(values)) assert.match(name, /^[a-z_][a-z0-9_]*$/)
  }
})
