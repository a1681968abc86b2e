import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { chooseFile, chooseLarge, slowUploads, startUpload, tables } from '../support/upload-page.ts'

const withWorker = { setup: { worker: true } } as const

test('a dropped CSV shows its types and reasons, becomes a table with points by a job, and opens in SQL', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t, withWorker)
  await signInAt('/upload')
  await page.getByText('Drop files on any page').waitFor()
  await assertAccessibleEverywhere(page)
  await goTo('/account')
  const csv = 'Id,Name,Lat,Lon,Zip\n9007199254740993,"Köln, am Rhein",50.94,6.96,01067\n2,<b>x</b>,,,\n'
  await dropFile(page, 'My Places.csv', Buffer.from(csv))
  await page.getByText('2 rows, all read').waitFor()
  assert.deepEqual(await shownTypes(page), {
    id: 'bigint',
    name: 'text',
    lat: 'double precision',
    lon: 'double precision',
    zip: 'text',
  })
  await page.getByText('“01067” in line 2 would lose its zero as a number').waitFor()
  await page.getByText('Show the SQL of each step').click()
  const sql = await page.getByRole('region', { name: 'SQL of the upload' }).innerText()
  assert.match(sql, /CREATE TABLE my_places[\s\S]*COPY my_places[\s\S]*CDB_CartodbfyTable[\s\S]*ANALYZE/)
  await assertAccessibleEverywhere(page)

  await page.getByRole('button', { name: 'Create table my_places' }).click()
  await page.getByText('my_places has 2 new rows').waitFor()
  const stored =
    'select id::text, name, zip, ST_AsText(the_geom) as at, the_geom_webmercator is null as far from my_places order by cartodb_id'
  assert.deepEqual((await user.sql(stored)).rows, [
    { id: '9007199254740993', name: 'Köln, am Rhein', zip: '01067', at: 'POINT(6.96 50.94)', far: false },
    { id: '2', name: '<b>x</b>', zip: null, at: null, far: true },
  ])
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Open in SQL' }).click()
  await page.locator('.cm-content', { hasText: 'select * from my_places limit 1000' }).waitFor()
})

test('a wrong line is shown, and one click fixes it', async (t) => {
  const { page, signInAt, user } = await openConsole(t, withWorker)
  await signInAt('/upload')
  const lines = Array.from({ length: 5000 }, (_, at) => `${at},${at === 4321 ? 'many' : at * 2},place ${at}`)
  await chooseFile(page, 'counts.csv', Buffer.from(`id,how many,where\n${lines.join('\n')}\n`))
  await page.getByText('5,000 rows, all read').waitFor()
  await page.getByText('“many” in line 4,323 is not a whole number, as the values before it').waitFor()
  // The wrong type, as for a user who starts before the whole file is read.
  await page.getByLabel('Type of how_many').selectOption('bigint')
  await page.getByRole('button', { name: 'Create table counts' }).click()
  await page.getByText('Nothing was stored, and no table was created').waitFor()
  await page.getByText('invalid input syntax for type bigint: "many"').first().waitFor()
  assert.match(await page.locator('.bad-line').innerText(), /Line 4,323 of the file\s+4321,many,place 4321/)
  assert.deepEqual(await tables(user), [])
  await page.getByRole('button', { name: 'Change how_many to text and try again' }).click()
  await page
    .getByText('counts has 5,000 new rows')
    .waitFor({ state: 'attached' })
    .catch(() => undefined)
  assert.equal((await user.sql('select count(*)::int as n from counts')).rows[0].n, 5000)
})

test('a file that COPY would refuse, or that is too large, is not sent; other formats get an ogr2ogr command', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { setup: { config: { copyMaxBytes: 1000 } } })
  await signInAt('/upload')
  await chooseFile(page, 'a.csv', Buffer.from(`a,b\n1,2\n3\n${'4,5\n'.repeat(300)}`))
  await page.getByText('Line 3: This line has one value, not 2.').waitFor()
  await page.getByText('The file has 1.2 KB, the limit is 1.0 KB').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Create table a', exact: true }).isDisabled())
  await page.getByRole('button', { name: 'Another file' }).click()
  await chooseFile(page, "it's.sqlite", Buffer.from('SQLite format 3\0'))
  const line = await page.getByRole('region', { name: 'Load it with ogr2ogr' }).innerText()
  assert.match(line, /ogr2ogr -f CARTO '.*' 'it'\\''s\.sqlite' -nln 'it_s'/)
  assert.ok(!line.includes(user.masterToken))
})

test('gzip, tabs, other encodings and GeoJSON are stored correctly, in new and existing tables', async (t) => {
  const { page, signInAt, user } = await openConsole(t, withWorker)
  await user.sql('create table orte (n int, extra text, ort text)')
  await signInAt('/upload')
  await chooseFile(page, 'x.tsv.gz', gzipSync(Buffer.from('ort\tn\nKöln\t""\nTromsø\t7\n', 'latin1')))
  await page.getByText('This file is not UTF-8').waitFor()
  await page.getByRole('cell', { name: 'Tromsø' }).waitFor()
  await page.getByLabel('Load into').selectOption({ label: 'Append to orte' })
  await page.getByRole('button', { name: 'Append to orte' }).click()
  await page.getByText('orte has 2 new rows').waitFor()
  assert.deepEqual((await user.sql('select * from orte order by n')).rows, [
    { n: 7, extra: null, ort: 'Tromsø' },
    { n: null, extra: null, ort: 'Köln' },
  ])
  await page.getByRole('button', { name: 'Another file' }).click()
  const feature = {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [1, 2] },
    properties: { n: 1, o: { a: [1] } },
  }
  await chooseFile(
    page,
    'g.geojson',
    Buffer.from(JSON.stringify({ type: 'FeatureCollection', features: [feature] })),
  )
  await page.getByRole('button', { name: 'Create table g', exact: true }).click()
  await page.getByRole('link', { name: 'Open map' }).waitFor()
  assert.deepEqual((await user.sql('select ST_AsEWKT(the_geom) as g, n, o from g')).rows, [
    { g: 'SRID=4326;POINT(1 2)', n: '1', o: { a: [1] } },
  ])
})

test('a large file is sent with progress; cancelled or without the service, it leaves neither rows nor table', async (t) => {
  const { page, context, signInAt, user } = await openConsole(t, { expected: /ERR_CONNECTION|net::/ })
  await signInAt('/upload')
  await chooseLarge(page, 'big.csv')
  await page.getByLabel('Type of n').waitFor()
  const quicken = await slowUploads(page)
  await startUpload(page, user, 'big')
  await page.getByRole('button', { name: 'Cancel upload' }).click()
  await page.getByText('No table was created.').waitFor()
  assert.deepEqual(await tables(user), [])

  await quicken()
  await page.getByRole('button', { name: 'Edit and try again' }).click()
  let isCut = false
  await context.route('**/copyfrom?*', async (route) => {
    if (isCut) return route.continue()
    isCut = true
    return route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Create table big' }).click()
  await page.getByText('The service does not answer').first().waitFor()
  assert.deepEqual(await tables(user), [])
  await page.getByRole('button', { name: 'Edit and try again' }).click()
  await page.getByRole('button', { name: 'Create table big' }).click()
  await eventually(
    async () => assert.equal((await user.sql('select count(*)::int as n from big')).rows[0].n, 2 ** 17),
    60_000,
  )
})

test('names and values with SQL or markup stay names and values', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  const hostile = `a"; drop table x; --'<img src=x onerror=alert(1)>`
  await signInAt('/upload')
  await chooseFile(
    page,
    `${hostile.replaceAll('/', '')}.csv`,
    Buffer.from(`"${hostile.replaceAll('"', '""')}",b\n"${'<script>'}",1\n`),
  )
  await page.getByLabel('Table name').fill(hostile)
  await page.getByLabel('Name of column 1').fill(hostile)
  await page.getByLabel('Prepare for maps').uncheck()
  await page.getByRole('button', { name: 'Create table ' }).click()
  await eventually(async () => assert.deepEqual(await tables(user), [hostile.slice(0, 63)]))
  await eventually(async () => {
    const { rows } = await user.sql(`select * from "${hostile.replaceAll('"', '""')}"`)
    assert.deepEqual(rows, [{ [hostile]: '<script>', b: '1' }])
  })
})

test('a broken quotation mark is shown first, by the line where it starts; bad rows are left out and downloaded', async (t) => {
  const { page, signInAt, user } = await openConsole(t, withWorker)
  await signInAt('/upload')
  const good = Array.from({ length: 39_999 }, (_, n) => `${n},row ${n}`)
  const csv = ['id,name', ...good, '39999,"broken', '40000,fine', '40001', '40002,"last"', ''].join('\n')
  await chooseFile(page, 'torn.csv', Buffer.from(csv))
  const notice = page.locator('.notice.warning').first()
  await notice.getByText('Line 40,001: The quotation mark opened here is never closed').waitFor()
  await page.locator('.bad-line').getByText('39999,"broken').waitFor()
  assert.match(await page.locator('.bad-line').innerText(), /Line 40,001 of the file\s+39999,"broken/)
  const top = async (selector: string) => (await page.locator(selector).first().boundingBox())!.y
  assert.ok((await top('.bad-line')) < (await top('.column-table')), 'above the columns')
  const create = page.getByRole('button', { name: 'Create table torn' })
  assert.ok(await create.isDisabled())
  await page.getByLabel('Leave out bad rows').check()
  await assertAccessibleEverywhere(page)
  await create.click()
  await page.getByText('torn has 40,001 new rows').waitFor()
  await page.getByText('2 rows were left out.').waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download left out rows' }).click()
  const saved = await saving
  assert.equal(saved.suggestedFilename(), 'torn-rejected.csv')
  assert.equal(await readFile(await saved.path(), 'utf8'), 'id,name\n39999,"broken\n40001\n')
  assert.equal((await user.sql("select from torn where name = 'last'")).rowCount, 1)
})

test('one click leaves out all rows that PostgreSQL refuses, and shows their lines, columns and reasons', async (t) => {
  const { page, signInAt, user } = await openConsole(t, withWorker)
  await signInAt('/upload')
  await chooseFile(page, 'n.csv', Buffer.from('n,t\n1,a\ntwo,b\n3,c\nfour,d\n'))
  await page.getByLabel('Type of n').selectOption('bigint')
  await page.getByRole('button', { name: 'Create table n' }).click()
  await page.getByText('Line 3 of the file').waitFor()
  await page.locator('.bad-line').getByText('two,b').waitFor()
  await page.getByRole('button', { name: 'Leave out bad rows and try again' }).click()
  await page.getByText('n has 2 new rows').waitFor()
  await page.getByText('2 rows were left out.').waitFor()
  assert.equal(await page.getByText('Check what is missing').count(), 0)
  const refused = page.getByRole('table', { name: 'Rows that were left out' }).locator('tbody tr')
  assert.deepEqual(await refused.allInnerTexts(), [
    '3\tn\ttwo\tinvalid input syntax for type bigint: "two"',
    '5\tn\tfour\tinvalid input syntax for type bigint: "four"',
  ])
  await assertAccessibleEverywhere(page)
  assert.deepEqual((await user.sql('select n::int, t from n order by n')).rows, [
    { n: 1, t: 'a' },
    { n: 3, t: 'c' },
  ])
})

test('the mark for NULL, the order of dates and the decimal sign can be chosen; reasons are in the encoding of the file', async (t) => {
  const { page, signInAt, user } = await openConsole(t, withWorker)
  await signInAt('/upload')
  const csv = 'size,opened,price,ort\n1,03/04/2026,"1,5",Köln\nn/a,05/06/2026,"2,25",größer\n'
  await chooseFile(page, 'made.csv', Buffer.from(csv, 'latin1'))
  await page.getByText('2 rows, all read').waitFor()
  await page.getByText('“n/a” in line 3 is not a whole number, as the other values').waitFor()
  await page.getByText('“Köln” in line 2 is text').waitFor()
  assert.equal((await shownTypes(page)).price, 'double precision')
  await page.getByRole('button', { name: 'Read “n/a” as NULL' }).click()
  await page.getByText('The one value is a whole number').waitFor()
  assert.equal((await shownTypes(page)).size, 'bigint')
  await page.getByText('“03/04/2026” in line 2 may have the day first or the month first').waitFor()
  await page.getByLabel('Dates').selectOption('Month first')
  assert.equal((await shownTypes(page)).opened, 'date')
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Create table made' }).click()
  await page.getByText('made has 2 new rows').waitFor()
  assert.deepEqual(
    (await user.sql('select size, opened::text, price, ort from made order by cartodb_id')).rows,
    [
      { size: '1', opened: '2026-03-04', price: 1.5, ort: 'Köln' },
      { size: null, opened: '2026-05-06', price: 2.25, ort: 'größer' },
    ],
  )
})

test('an empty file and a file of another kind are reported as such, not read as a CSV of one column', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/upload')
  for (const [name, content, said] of [
    ['none.csv', '', 'This file is empty.'],
    ['tour.csv', '<?xml version="1.0"?><kml><Document/></kml>', 'This is KML, neither CSV nor GeoJSON.'],
    ['noise.csv', '\x01\x02\0\x03', 'This file is not text: it is neither CSV nor GeoJSON.'],
  ] as const) {
    await chooseFile(page, name, Buffer.from(content))
    await page.getByText(said).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Create table/ }).count(), 0)
    const hasLine = (await page.getByRole('region', { name: 'Load it with ogr2ogr' }).count()) > 0
    assert.equal(hasLine, name !== 'none.csv')
    await page.getByRole('button', { name: 'Another file' }).click()
  }
})

/** Drops a file, with the events of a browser. */
async function dropFile(page: Page, name: string, bytes: Buffer): Promise<void> {
  await page.evaluate(
    ([fileName, text]) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([text!], fileName!))
      for (const kind of ['dragenter', 'dragover', 'drop']) {
        document
          .querySelector('main')!
          .dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }))
      }
    },
    [name, bytes.toString()],
  )
}

async function shownTypes(page: Page): Promise<Record<string, string>> {
  const headers = page.locator('.column-table th')
  return Object.fromEntries(
    await headers.evaluateAll((cells) =>
      cells.map((cell) => [cell.querySelector('input')!.value, cell.querySelector('select')!.value]),
    ),
  )
}
