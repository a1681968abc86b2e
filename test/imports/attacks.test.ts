import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const secret = `<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>`

test('files that do not match their names are refused with 1002', async (t) => {
  const { load, nothingLeft } = await setupImports(t)
  const cases: [string, string | Buffer][] = [
    ['vrt.csv', secret],
    ['page.csv', '<!DOCTYPE html><html></html>'],
    ['gml.csv', '<?xml version="1.0"?><gml:FeatureCollection/>'],
    ['vrt.gpkg', secret],
    ['vrt.kml', secret],
    ['vrt.geojson', secret],
    ['vrt.shp.zip', secret],
    ['x.vrt', secret],
    ['x.mdb', 'x'],
    ['x.rar', 'Rar!'],
    ['bytes.csv', Buffer.from([1, 0, 2, 0, 3, 0])],
    [
      'data.zip',
      zipOf([
        { name: 'x.vrt', content: secret },
        { name: 'y.csv', content: secret },
      ]),
    ],
  ]
  for (const [name, content] of cases) {
    const failed = await load(name, content)
    assert.equal(failed.state, 'failure', name)
    assert.equal(failed.error_code, 1002, name)
    assert.match(failed.get_error_text!.what_about, /Supported: CSV/)
  }
  await nothingLeft()
})

test('archives with outside paths, links, encryption, nesting or bombs are refused', async (t) => {
  const { load, nothingLeft } = await setupImports(t)
  const csv = 'a\n1\n'
  const zeros = Buffer.alloc(3_000_000, '0')
  const cases: [string, Buffer, number][] = [
    ['up.zip', zipOf([{ name: '../../evil.csv', content: csv }]), 1003],
    ['root.zip', zipOf([{ name: '/etc/evil.csv', content: csv }]), 1003],
    ['link.zip', zipOf([{ name: 'a.csv', content: '/etc/passwd', mode: 0o120777 }]), 1003],
    ['locked.zip', zipOf([{ name: 'a.csv', content: csv, isEncrypted: true }]), 1018],
    ['nested.zip', zipOf([{ name: 'inner.zip', content: zipOf([{ name: 'a.csv', content: csv }]) }]), 1002],
    ['bomb.zip', zipOf([{ name: 'a.csv', content: zeros }]), 6666],
    ['lying.zip', zipOf([{ name: 'a.csv', content: zeros, size: 10 }]), 1003],
    [
      'many.zip',
      zipOf(Array.from({ length: 1_001 }, (_, at) => ({ name: `${at}.txt`, content: 'a' }))),
      6666,
    ],
    ['broken.zip', Buffer.from('PK\x03\x04 and no more'), 1003],
    ['bomb.csv.gz', gzipSync(zeros), 6666],
    ['broken.csv.gz', gzipSync(csv).subarray(0, 12), 1003],
  ]
  for (const [name, content, code] of cases) {
    const failed = await load(name, content)
    assert.equal(failed.error_code, code, `${name}: ${failed.get_error_text?.what_about}`)
  }
  await nothingLeft()
})

test('a KMZ or a workbook is checked as the archive that it is, alone and in an archive', async (t) => {
  const { load, nothingLeft } = await setupImports(t, { importUnpackedBytes: 4_000_000 })
  const place = '<Placemark><name>p</name><Point><coordinates>1,2</coordinates></Point></Placemark>'
  const kml = (text: string) =>
    `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${text}</Document></kml>`
  const doc = { name: 'doc.kml', content: kml(place) }
  const zeros = { name: 'zeros', content: Buffer.alloc(3_000_000, '0') }
  // Deflate makes about 40 KB of it.
  const noise = Buffer.alloc(2_100_000, randomBytes(20_000))
  const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `${at}.png`, content: 'a' }))
  const cases: [string, Buffer, number][] = [
    ['bomb', zipOf([doc, zeros]), 6666],
    ['large', zipOf([doc, { name: 'a', content: noise }, { name: 'b', content: noise }]), 6666],
    ['many', zipOf([doc, ...many]), 6666],
    ['lying', zipOf([{ ...doc, size: 10 }]), 1003],
    ['up', zipOf([doc, { name: '../up', content: 'a' }]), 1003],
    ['link', zipOf([doc, { name: 'link', content: '/etc/passwd', mode: 0o120777 }]), 1003],
    ['locked', zipOf([doc, { name: 'secret', content: 'a', isEncrypted: true }]), 1018],
  ]
  for (const [name, content, code] of cases)
    for (const [file, sent] of [
      [`${name}.kmz`, content],
      [`${name}.xlsx`, content],
      [`${name}.ods`, content],
      [`${name}.zip`, zipOf([{ name: `${name}.kmz`, content }])],
    ] as const) {
      const failed = await load(file, sent)
      assert.equal(failed.error_code, code, `${file}: ${failed.get_error_text?.what_about}`)
    }
  // Each of them is small enough.
  const half = zipOf([doc, { name: 'a', content: noise }])
  const together = ['one', 'two'].map((name) => ({ name: `${name}.kmz`, content: half }))
  assert.equal((await load('together.zip', zipOf(together))).error_code, 6666)
  for (const [file, sent] of [
    ['good.kmz', half],
    ['good.kmz.gz', gzipSync(half)],
    ['good.zip', zipOf([{ name: 'good.kmz', content: zipOf([doc]) }])],
    ['book.xlsx', made('XLSX', 'a.xlsx', places).get('a.xlsx')!],
    ['book.ods', made('ODS', 'a.ods', places).get('a.ods')!],
  ] as const) {
    const done = await load(file, sent)
    assert.equal(done.get_error_text, null, file)
  }
  await nothingLeft()
})

test('names of files, layers and columns that are SQL, paths or options are only names', async (t) => {
  const { load, user } = await setupImports(t)
  const evil = `"; drop table users; --`
  const csv = await load(
    `-f PG:host=x; ${evil}.csv`,
    `"${evil.replaceAll('"', '""')}",-lco,select,ctid,2x\n1,2,3,4,5\n`,
  )
  assert.equal(csv.get_error_text, null)
  assert.match(csv.table_name!, /^table_[a-z0-9_]+$/)
  const { rows } = await user.sql(
    `select column_name as name from information_schema.columns where table_name = $1`,
    [csv.table_name],
  )
  const names = rows.map(({ name }) => name)
  for (const name of names) assert.match(name, /^[a-z_][a-z0-9_]*$/)
  assert.ok(names.includes('_select') && names.includes('_2x') && names.includes('ctid_1'), names.join())
  const folder = (name: string) =>
    `<Folder><name>${name}</name><Placemark><name>p</name></Placemark></Folder>`
  for (const layer of [
    '-sql',
    'PG:dbname=x',
    '/etc/passwd',
    evil,
    'a" ( "b" SERIAL, x',
    'x.y;\nDROP TABLE z',
  ]) {
    const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${folder(layer)}</Document></kml>`
    const done = await load('layer.kml', kml)
    assert.equal(done.get_error_text, null, layer)
    assert.match(done.table_name!, /^layer_[a-z0-9_]*$/)
    assert.equal((await user.sql(`select from ${done.table_name}`)).rowCount, 1)
  }
})

test('importing a GeoPackage with views, triggers and virtual tables runs none of them', async (t) => {
  const { load, user } = await setupImports(t)
  const folder = mkdtempSync(join(tmpdir(), 'cartage-gpkg-'))
  try {
    const path = join(folder, 'a.gpkg')
    writeFileSync(path, made('GPKG', 'a.gpkg', places).get('a.gpkg')!)
    const sql = [
      `create view other as select writefile('/tmp/cartage-evil', 'x')`,
      `create virtual table words using fts5(text)`,
      `create trigger bad after insert on source begin select load_extension('/tmp/evil.so'); end`,
    ]
    for (const text of sql)
      execFileSync('python3', [
        '-c',
        'import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()',
        path,
        text,
      ])
    const done = await load('a.gpkg', readFileSync(path))
    assert.equal(done.get_error_text, null)
    assert.deepEqual(done.table_names, ['a'])
    assert.equal((await user.sql('select from a')).rowCount, 3)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a billion laughs in KML, GPX and XLSX ends in 2001 and stores nothing', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t, { importMemoryBytes: 512 * 1024 ** 2 })
  const entities = Array.from(
    { length: 10 },
    (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`,
  ).join('')
  const laughs = `<!DOCTYPE x [<!ENTITY l0 "lol">${entities}]>`
  const kml = `<?xml version="1.0"?>${laughs}<kml xmlns="http://www.opengis.net/kml/2.2"><Document><Placemark><name>&l10;</name></Placemark></Document></kml>`
  const gpx = `<?xml version="1.0"?>${laughs}<gpx version="1.1" creator="x"><wpt lat="1" lon="2"><name>&l10;</name></wpt></gpx>`
  const workbook = made('XLSX', 'a.xlsx', places).get('a.xlsx')!
  const xlsx = inSheet(workbook, /(<\?xml.*?\?>)/, `$1${laughs}`, /<v>[^<]*<\/v>/g, '<v>&l10;</v>')
  const cases = [
    ['a.kml', kml, /parsing aborted/],
    ['a.gpx', gpx, /million laugh/],
    ['a.xlsx', xlsx, /million laugh/],
  ] as const
  for (const [name, content, text] of cases) {
    const since = performance.now()
    const failed = await load(name, content)
    assert.deepEqual([failed.state, failed.error_code, failed.table_names], ['failure', 2001, []], name)
    assert.match(failed.get_error_text!.what_about, text, name)
    assert.ok(performance.now() - since < 20_000, name)
  }
  // Without them the workbook can be read.
  assert.equal((await load('good.xlsx', inSheet(workbook, /$/, ''))).get_error_text, null)
  const { rows } = await user.sql(`select relname from pg_class where relname ~ '^a(_|$)'`)
  assert.deepEqual(rows, [])
  await nothingLeft()
})

/** A workbook whose first sheet was changed. */
function inSheet(workbook: Buffer, ...changes: readonly (RegExp | string)[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'cartage-xlsx-'))
  const sheet = join(folder, 'xl/worksheets/sheet1.xml')
  const zip = (...args: string[]) => execFileSync('python3', ['-m', 'zipfile', ...args])
  try {
    writeFileSync(join(folder, 'in.xlsx'), workbook)
    zip('-e', join(folder, 'in.xlsx'), folder)
    let text = readFileSync(sheet, 'utf8')
    for (let at = 0; at < changes.length; at += 2)
      text = text.replace(changes[at]!, changes[at + 1] as string)
    writeFileSync(sheet, text)
    const parts = ['[Content_Types].xml', '_rels', 'docProps', 'xl'].map((part) => join(folder, part))
    zip('-c', join(folder, 'out.xlsx'), ...parts.filter((part) => existsSync(part)))
    return readFileSync(join(folder, 'out.xlsx'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('too many columns, malformed lines, NUL bytes and truncated files have their own codes', async (t) => {
  const { load, nothingLeft } = await setupImports(t)
  const wide = Array.from({ length: 1_700 }, (_, at) => `c${at}`)
  const shp = made('ESRI Shapefile', 'a.shp', places)
  const cut = [...shp].map(([name, content]) => ({
    name,
    content: name.endsWith('.shp') ? content.subarray(0, 110) : content,
  }))
  const cases: [string, string | Buffer, number][] = [
    ['wide.csv', `${wide.join()}\n${wide.join()}\n`, 2004],
    ['torn.csv', 'a,b\n1,2\n1,2,3\n', 2003],
    ['open.csv', 'a,b\n1,"2\n', 2003],
    ['empty.csv', '', 1005],
    ['broken.geojson', '{"type":"FeatureCollection","features":[{]}', 3007],
    ['other.json', '{"a":1}', 3007],
    ['cut.zip', zipOf(cut), 2001],
    ['cut.gpkg', made('GPKG', 'a.gpkg', places).get('a.gpkg')!.subarray(0, 5_000), 2001],
  ]
  for (const [name, content, code] of cases) {
    const failed = await load(name, content)
    assert.equal(failed.error_code, code, `${name}: ${JSON.stringify(failed.get_error_text)}`)
    assert.ok(!/\/work|\/dev\/shm|\/tmp|cartage_u/.test(failed.get_error_text!.what_about))
  }
  const line = await load('torn2.csv', 'a,b\n1,2\n1,2,3\n')
  assert.match(line.get_error_text!.what_about, /[Ll]ine 3/)
  await nothingLeft()
})
