import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { findLine, placeInCopy } from '../../src/file-import/find-line.ts'
import { type ImportFile, openImport } from '../../src/file-import/import-file.ts'
import { importStatements } from '../../src/file-import/import-plan.ts'
import { type ImportWishes, planImport } from '../../src/file-import/plan-import.ts'
import { readTypes } from '../../src/file-import/read-types.ts'
import { checkImport, ImportInDoubt, isOutcomeUnknown, storeRows } from '../../src/file-import/store-rows.ts'
import { copyfrom } from '../support/postgres/copying.ts'
import { setup } from '../support/service/setup.ts'

const geojson = JSON.stringify({
  type: 'FeatureCollection',
  features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: { n: 1 } }],
})

test('a file is recognised by content and name, compressed or not, and its byte order mark is skipped', async () => {
  for (const [name, content, isGeojson, text] of [
    ['a.csv', '\ufeffa,b\n1,2\n', false, 'a,b\n1,2\n'],
    ['a', 'a,b\n1,2\n', false, 'a,b\n1,2\n'],
    ['a.geojson', geojson, true, 'the_geom,n\n"SRID=4326;POINT(1 2)",1\n'],
    ['a', `\n ${geojson}`, true, 'the_geom,n\n"SRID=4326;POINT(1 2)",1\n'],
    ['a.csv', '{x},b\n1,2\n', false, '{x},b\n1,2\n'],
  ] as const) {
    for (const isGzip of [false, true]) {
      const file = await open(name, isGzip ? gzipSync(content) : Buffer.from(content))
      assert.deepEqual([file.isGeojson, file.isGzip, await textOf(file)], [isGeojson, isGzip, text])
    }
  }
  for (const [name, content, kind] of [
    ['a.ndjson', '{"a":1}\n', 'json-lines'],
    ['a.csv', '', 'empty'],
    ['a.csv', '\ufeff', 'empty'],
    ['a.csv', '\n\r\n \n', 'empty'],
    ['a.csv', 'a\0b', 'not-text'],
    ['a.csv', '\u00ff\u00fea\0,\0b\0', 'utf-16'],
    ['a.csv', 'PK\x03\x04\0\0', 'other-kind'],
  ] as const)
    await assert.rejects(open(name, Buffer.from(content, kind === 'utf-16' ? 'latin1' : 'utf8')), {
      name: 'ImportFileError',
      kind,
    })
})

test('a file of another kind is named in the error', async () => {
  for (const [name, content, kind] of [
    ['a.kml', '<?xml version="1.0"?>\n<kml xmlns="x"><Document/></kml>', 'KML'],
    ['a.csv', '\ufeff <gpx></gpx>', 'GPX'],
    ['a.xlsx', 'PK\x03\x04\0\0', 'an Excel workbook'],
    ['a.gpkg', 'SQLite format 3\0', 'a GeoPackage or SQLite database'],
    ['a.parquet', 'PAR1\x15', 'Parquet'],
  ] as const)
    await assert.rejects(open(name, Buffer.from(content)), {
      message: `This is ${kind}, neither CSV nor GeoJSON.`,
    })
  for (const [name, content, kind] of [
    ['a.csv', '<!DOCTYPE html><html></html>', 'a web page (HTML)'],
    ['a.png', '\x89PNG\r\n\x1a\n', 'a PNG image'],
    ['a.jpg', '\xff\xd8\xff\xe0', 'a JPEG image'],
    ['a.pdf', '%PDF-1.7\n', 'a PDF document'],
  ] as const)
    await assert.rejects(open(name, Buffer.from(content, 'latin1')), {
      kind: 'no-table',
      message: `This is ${kind}: it has no rows.`,
    })
  assert.equal((await open('a.csv', Buffer.from('<5,a\n1,2\n'))).isGeojson, false)
})

test('an error names the line of its record, or the line itself if no record ends there', async () => {
  const file = await open('a.csv', Buffer.from('a,b\n"x\ny",2\n3,"open\n4,5\n'))
  assert.deepEqual(await findLine(file, 3, 1), { record: 2, before: '"x\ny",', word: '2', after: '' })
  assert.deepEqual(await findLine(file, 4), { record: undefined, before: '', word: '', after: '3,"open' })
  assert.equal(await findLine(file, 400), undefined)
  const columns = [{ name: 'a' }, { name: 'a: b' }]
  assert.deepEqual(placeInCopy('COPY t, line 12, column a: b: "x"', columns), {
    line: 12,
    column: columns[1],
  })
  assert.equal(placeInCopy('SQL function "f"', columns), undefined)
})

test('the plan has the types of an existing table and names what does not fit', async () => {
  const file = await open('a.csv', Buffer.from('id,lon,lat,more\n1,2,3,x\n'))
  const reading = await readTypes(file)
  const known = new Map([
    ['id', 'text'],
    ['lon', 'numeric'],
    ['lat', 'real'],
  ])
  const { plan, problems } = planImport(file, reading, { ...wishes, isAppended: true, known })
  assert.deepEqual(
    plan.columns.map(({ type }) => type),
    ['text', 'numeric', 'real', 'text'],
  )
  assert.equal(plan.points, undefined, 'the table has no the_geom')
  assert.deepEqual(problems, [{ kind: 'missing-columns', names: ['more'] }])
  const ready = new Map([...known, ['the_geom', 'geometry(Geometry,4326)']])
  const prepared = planImport(file, reading, { ...wishes, isAppended: true, known: ready, isPrepared: true })
  assert.deepEqual(prepared.plan.points, { lon: 'lon', lat: 'lat' })
  assert.equal(prepared.plan.isPrepared, false, 'only a new table is prepared for maps')
  assert.equal(planImport(file, reading, { ...wishes, isPrepared: true }).plan.isPrepared, true)
  const named = planImport(file, reading, { ...wishes, table: ' ', names: { 0: 'lon', 3: '' } })
  assert.deepEqual(
    named.problems.map(({ kind }) => kind),
    ['no-table-name', 'no-column-name', 'same-name'],
  )
})

test('if the answer to an upload is lost, a new table shows whether the rows are stored; an older one cannot', async (t) => {
  const { user } = await setup(t)
  const bytes = Buffer.from('n\n1\n2\n')
  const file = await open('a.csv', bytes)
  const reading = await readTypes(file)
  const lost = new Error('lost')
  const sql = async (text: string) => (await user.sql(text).catch(withSqlstate)).rows
  const serviceThat = (stores: boolean) => ({
    sql,
    copy: async ({ create, copy }: { create: string | undefined; copy: string }) => {
      if (stores) {
        if (create) await user.sql(create)
        await copyfrom(user, copy, bytes)
      }
      throw lost
    },
    isLost: (error: unknown) => error === lost,
    untilBack: async () => undefined,
  })
  const statements = importStatements(planImport(file, reading, wishes).plan)
  await checkImport({ sql }, statements)
  await assert.rejects(storeRows(serviceThat(false), statements), lost)
  assert.equal(await storeRows(serviceThat(true), statements), 2)
  await assert.rejects(checkImport({ sql }, statements), { sqlstate: '42P07' })
  const more = importStatements(planImport(file, reading, { ...wishes, isAppended: true }).plan)
  await assert.rejects(storeRows(serviceThat(true), more), (error) => error instanceof ImportInDoubt)
  for (const [status, code, isUnknown] of [
    [0, 'service-unreachable', true],
    [502, undefined, true],
    [500, 'copy-outcome-unknown', true],
    [409, 'request-repeated', true],
    [400, undefined, false],
    [503, 'shutting-down', false],
  ] as const)
    assert.equal(isOutcomeUnknown({ status, code }), isUnknown, `${status} ${code}`)
})

const wishes: ImportWishes = {
  table: 't',
  isAppended: false,
  names: {},
  types: {},
  points: undefined,
  isPrepared: false,
}

const open = (name: string, stored: Buffer) =>
  openImport({
    name,
    async *read(isGzip: boolean) {
      yield isGzip ? gunzipSync(stored) : stored
    },
  })

async function textOf({ text }: ImportFile): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of text()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function withSqlstate(error: { code?: string }): never {
  throw Object.assign(new Error('refused'), { sqlstate: error.code })
}
