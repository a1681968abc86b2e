import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DumpEvent, PgDumpError, readPgDump } from '../../src/convert/pgdump/read-pgdump.ts'

const dump = `SET standard_conforming_strings = OFF;
BEGIN;
CREATE TABLE "public"."a "b" ( "c" ( "fid" SERIAL, CONSTRAINT "a "b" ( "c_pk" PRIMARY KEY ("fid") );
SELECT AddGeometryColumn('public','a "b" ( "c','the_geom',4326,'POINT',2);
COMMENT ON TABLE "public"."a ""b"" ( ""c" IS 'it''s; \\'
DROP TABLE x;';
ALTER TABLE "public"."a ""b"" ( ""c" ADD COLUMN "x; ""y
" VARCHAR;
ALTER TABLE "public"."a ""b"" ( ""c" ADD COLUMN "n" NUMERIC(10,2) NOT NULL UNIQUE;
COPY "public"."a ""b"" ( ""c" ("the_geom", "fid", "x; ""y
", "n") FROM STDIN;
0101	1	back\\\\slash\\
\\	1.5
\\N	2	.	\\N
\\.
END;
SELECT setval(pg_get_serial_sequence('"public"."a ""b"" ( ""c"', 'fid'), MAX("fid")) FROM "public"."a ""b"" ( ""c";
COMMIT;
BEGIN;
CREATE TABLE "public"."empty" ( "ogc_fid" SERIAL, CONSTRAINT "empty_pk" PRIMARY KEY ("ogc_fid") );
COMMIT;
`

test("the converter's output is read the same however it is split", async () => {
  const whole = await read(dump, dump.length)
  const layer = {
    name: 'a "b" ( "c',
    fid: 'fid',
    columns: [
      { name: 'x; "y\n', type: 'varchar' },
      { name: 'n', type: 'numeric(10,2)' },
    ],
    geometry: { column: 'the_geom', srid: 4326 },
  }
  assert.deepEqual(whole, [
    { copy: layer, columns: ['the_geom', 'fid', 'x; "y\n', 'n'] },
    { rows: '0101\t1\tback\\\\slash\\\n\\\t1.5\n\\N\t2\t.\t\\N\n', count: 2 },
    'copied',
    { empty: { name: 'empty', fid: 'ogc_fid', columns: [], geometry: undefined } },
  ])
  for (const size of [1, 2, 3, 7, 64, 200]) assert.deepEqual(await read(dump, size), whole, `${size} bytes`)
})

test('rows without any value end at once', async () => {
  const text = dump.replace(/0101[\s\S]*?\\\.\n/, '\\.\n')
  for (const size of [1, 5, 1_000]) assert.equal((await read(text, size))[1], 'copied')
})

const create = dump.slice(0, dump.indexOf('COPY'))
const wrong = {
  'another statement': `${create}DROP TABLE users;\nCOMMIT;\n`,
  'a statement after a known one': 'BEGIN; DROP TABLE users;\nCOMMIT;\n',
  'rows as INSERT': `${create}INSERT INTO "public"."a" VALUES (1);\nCOMMIT;\n`,
  'a type followed by more': `${create}ALTER TABLE "public"."a ""b"" ( ""c" ADD COLUMN "z" text DEFAULT pg_sleep(1);\nCOMMIT;\n`,
  'rows of a layer without a name': `${create}COPY "public"."other" ("n") FROM STDIN;\n1\n\\.\nCOMMIT;\n`,
  'rows of a column without a type': `${create}COPY "public"."a ""b"" ( ""c" ("secret") FROM STDIN;\n1\n\\.\nCOMMIT;\n`,
  'rows from a program': `${create}COPY "public"."a ""b"" ( ""c" ("n") FROM PROGRAM 'id';\nCOMMIT;\n`,
  'two layers with one name': `${create}${create.slice(create.indexOf('BEGIN'))}COMMIT;\n`,
  'bytes after the end': `${dump}\\! id\n`,
  'an end in the middle': dump.slice(0, dump.indexOf('\\.')),
  'no end': dump.slice(0, dump.lastIndexOf('COMMIT')),
  nothing: '',
  'a statement without an end': `ALTER TABLE "public"."${'x'.repeat(2_000_000)}`,
  'a name full of statement ends': `ALTER TABLE "public"."${';\n'.repeat(400_000)}`,
}

for (const [what, text] of Object.entries(wrong)) {
  test(`the converter's output is refused: ${what}`, async () => {
    const start = performance.now()
    for (const size of [64_000, 5_000_000]) await assert.rejects(read(text, size), PgDumpError)
    assert.ok(performance.now() - start < 2_000)
  })
}

test('a row of more than 256 MB is refused and takes no memory', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  async function* endless() {
    yield Buffer.from(dump.slice(0, dump.indexOf('0101')))
    for (;;) yield chunk
  }
  const before = process.memoryUsage().rss
  await assert.rejects(async () => {
    for await (const event of readPgDump(endless())) if (event.kind === 'copied') break
  }, /too long/)
  assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024)
})

async function read(text: string, size: number): Promise<unknown[]> {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const seen: unknown[] = []
  let rows: { rows: string; count: number } | undefined
  for await (const event of readPgDump(chunks())) {
    if (event.kind === 'rows') {
      if (rows) {
        rows.rows += event.bytes.toString()
        rows.count += event.rows
      } else {
        rows = { rows: event.bytes.toString(), count: event.rows }
        seen.push(rows)
      }
    } else seen.push(shown(event))
  }
  return seen
}

function shown(event: Exclude<DumpEvent, { kind: 'rows' }>): unknown {
  if (event.kind === 'copied') return 'copied'
  const { name, fid, columns, geometry } = event.layer
  const layer = { name, fid, columns: [...columns], geometry }
  return event.kind === 'copy' ? { copy: layer, columns: event.columns } : { empty: layer }
}
