import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { browser } from '../console/support/browser.ts'
import { unpackClient } from '../support/clients/npm-client.ts'
import { otherSite } from '../support/clients/other-site.ts'
import { setup, type TestUser } from '../support/service/setup.ts'
import { readTile } from '../support/tiles/tile-api.ts'

const sales = `create table sales as select n as cartodb_id, n::float8 as amount, chr(65 + n % 8) as shop,
    timestamptz '2020-01-15 12:00Z' + n * interval '1 month' as at, st_setsrid(st_makepoint(n * 100000, 0), 3857) as the_geom_webmercator
  from generate_series(1, 100) n;
  update sales set amount = 'NaN' where cartodb_id = 100; update sales set amount = null, shop = null where cartodb_id = 99`

test('carto.js 4.2.2 has dataviews of every type, and its filters change them', {
  timeout: 120_000,
}, async (t) => {
  const folders = await librariesFor(t)
  if (!folders) return
  const { user } = await setup(t)
  await user.sql(sales)
  const { answer } = await run(t, folders, user, dataviews)
  const { total, shops, amounts, years } = answer.all
  assert.deepEqual(total, { nulls: 1, operation: 'sum', result: 4851 })
  assert.deepEqual(
    [shops.count, shops.nulls, shops.max, shops.min, shops.operation],
    [100, 1, 13, 12, 'count'],
  )
  assert.deepEqual(
    shops.categories.map((each: { group: boolean; value: number }) => [each.group, each.value]),
    [
      [false, 13],
      [false, 13],
      [true, 73],
    ],
  )
  // It asks for the rows between the smallest and largest value, so none is null.
  assert.deepEqual([amounts.bins.length, amounts.nulls, amounts.totalAmount], [10, 0, 98])
  assert.deepEqual([amounts.bins[0].start, amounts.bins[0].freq], [1, 10])
  assert.deepEqual([years.bins.length, years.totalAmount, years.bins[0].freq], [9, 100, 11])
  assert.equal(new Date(years.bins[0].start * 1000).toISOString(), '2020-01-01T00:00:00.000Z')
  assert.deepEqual(answer.inBox, [11, 6])
  // Metres of the projection are true on the equator.
  assert.deepEqual([answer.inCircle, answer.inPolygon], [5, 11])
  assert.deepEqual(answer.filtered, [26, 14, 100])
  assert.deepEqual(answer.missing, {
    message: 'Invalid column name. Column t.nothing does not exist.',
    status: 'error',
  })
})

test('carto.js 4.2.2 makes maps with CartoCSS, gets vector tiles, and is told why there is no picture', {
  timeout: 120_000,
}, async (t) => {
  const folders = await librariesFor(t)
  if (!folders) return
  const { user } = await setup(t)
  await user.sql(sales)
  const { answer, requests } = await run(t, folders, user, layers)
  assert.deepEqual(answer.styles, { styles: [] })
  assert.deepEqual(answer.attributes, { shop: 'B', amount: 1 })
  assert.deepEqual(
    Object.entries(readTile(Buffer.from(answer.tile))).map(([name, features]) => [name, features.length]),
    [['one', 100]],
  )
  assert.equal(answer.pictures, 'Some tiles might not be rendering correctly.')
  const picture = requests.find((address) => address.includes('.png?'))!
  const reply = await fetch(picture)
  assert.equal(reply.status, 400)
  assert.deepEqual(((await reply.json()) as { errors: unknown }).errors, [
    'Unsupported format png: this server makes vector tiles (mvt)',
  ])
  assert.equal(answer.wrong, 'relation "nothing" does not exist')
  assert.equal(answer.column, 'Invalid column name. Column "nothing" does not exist.')
  assert.equal(answer.after, 2)
  assert.equal(answer.empty, 0)
})

test('carto.js 4.2.2 follows the view of a Leaflet map and aggregates points, and a click returns no attributes', {
  timeout: 120_000,
}, async (t) => {
  const folders = await librariesFor(t)
  if (!folders) return
  const { user } = await setup(t)
  await user.sql(sales)
  const { answer } = await run(t, folders, user, views)
  // A pixel at zoom 5 is 4.9 km.
  assert.deepEqual(answer.inView, [9, 100])
  assert.deepEqual(answer.filtered, [20, 13])
  const points = readTile(Buffer.from(answer.tile)).cells!.map(({ properties }) => properties)
  assert.equal(
    points.reduce((sum, point) => sum + Number(point._cdb_feature_count), 0),
    98,
  )
  assert.equal(
    points.reduce((sum, point) => sum + Number(point.total), 0),
    4851,
  )
  assert.ok(points.length < 20, String(points.length))
  assert.deepEqual([answer.grid, answer.clicks], [400, 0])
})

test('carto.js 4.2.2 packs a longer config, and sends one by POST that stays too long', {
  timeout: 120_000,
}, async (t) => {
  const folders = await librariesFor(t)
  if (!folders) return
  const { user } = await setup(t)
  await user.sql(sales)
  const { answer, requests } = await run(t, folders, user, longConfigs)
  assert.deepEqual(answer, { plain: 100, packed: 13, posted: 13 })
  const made = requests.filter((address) => address.startsWith(`${user.base}/api/v1/map?`))
  const kinds = made.map((address) => /[?&](config|lzma)=/.exec(address)?.[1] ?? 'posted')
  assert.deepEqual([...new Set(kinds)].toSorted(), ['config', 'lzma', 'posted'])
})

test('carto.js 4.2.2 reads public tables without a key, and gets the reason for others', {
  timeout: 120_000,
}, async (t) => {
  const folders = await librariesFor(t)
  if (!folders) return
  const { user } = await setup(t)
  await user.sql(`${sales}; create table secrets as select * from sales; grant select on sales to public`)
  const { answer } = await run(t, folders, { ...user, masterToken: 'default_public' }, publicTables)
  assert.equal(answer.rows, 100)
  assert.match(answer.refused, /permission denied for table secrets/)
})

const dataviews = `
  const source = new carto.source.SQL('select * from sales')
  const { Formula, Category, Histogram, TimeSeries } = carto.dataview
  const { SUM } = carto.operation
  const box = new carto.filter.BoundingBox().setBounds({ west: 0, south: -1, east: 10, north: 1 })
  const circle = new carto.filter.Circle().setCircle({ lat: 0, lng: 0, radius: 550000 })
  const ring = [[0, -1], [10, -1], [10, 1], [0, 1], [0, -1]]
  const polygon = new carto.filter.Polygon().setPolygon({ type: 'Polygon', coordinates: [ring] })
  const all = await loaded({
    total: new Formula(source, 'amount', { operation: SUM }),
    shops: new Category(source, 'shop', { limit: 3 }),
    amounts: new Histogram(source, 'amount', { bins: 10 }),
    years: new TimeSeries(source, 'at', { aggregation: carto.dataview.timeAggregation.YEAR }),
  })
  const count = () => new Formula(source, 'cartodb_id')
  const boxed = count().addFilter(box)
  const inBox = [(await loaded({ boxed })).boxed.result]
  const moved = changed(boxed)
  box.setBounds({ west: 0, south: -1, east: 5.5, north: 1 })
  inBox.push((await moved).result)
  const inCircle = (await loaded({ one: count().addFilter(circle) })).one.result
  const inPolygon = (await loaded({ one: count().addFilter(polygon) })).one.result
  const table = new carto.source.Dataset('sales')
  const rows = new Formula(table, 'cartodb_id')
  const few = new carto.filter.Category('shop', { in: ['B', 'C'] })
  const small = new carto.filter.Range('amount', { between: { min: 1, max: 50 } })
  table.addFilter(few)
  const filtered = [(await loaded({ rows })).rows.result]
  for (const change of [() => table.addFilter(small), () => table.removeFilters([few, small])]) {
    const next = changed(rows)
    change()
    filtered.push((await next).result)
  }
  const wrong = new TimeSeries(source, 'nothing')
  const error = await loaded({ wrong }).catch((error) => error)
  return { all, inBox, inCircle, inPolygon, filtered, missing: { message: error.message, status: wrong.getStatus() } }`

const layers = `
  const map = L.map('map').setView([0, 0], 2)
  const style = new carto.style.CartoCSS('#layer { marker-width: 7; marker-fill: #ee4d5a; }')
  const source = new carto.source.Dataset('sales')
  const one = new carto.layer.Layer(source, style, { id: 'one', featureClickColumns: ['shop', 'amount'], featureOverColumns: ['shop'] })
  const styled = new Promise((done) => one.on('metadataChanged', done))
  const pictured = new Promise((done) => client.on('error', done))
  await client.addLayer(one)
  client.getLeafletLayer().addTo(map)
  const pictures = (await pictured).message
  // The public API has no function to read these two.
  const group = client._engine.getLayerGroup()
  const attributes = await new Promise((done) => group.fetchAttributes(0, 1, done))
  const address = group.getTileURLTemplate('mvt').replace('{z}/{x}/{y}', '0/0/0')
  const tile = [...new Uint8Array(await (await fetch(address)).arrayBuffer())]
  const message = async (made) => (await made.then(() => 'no error', (error) => error)).message
  const faulty = new carto.layer.Layer(new carto.source.Dataset('nothing'), style)
  const wrong = await message(client.addLayer(faulty))
  await client.removeLayer(faulty)
  const column = await message(one.setFeatureClickColumns(['nothing']))
  await one.setFeatureClickColumns(['shop'])
  await client.addLayer(new carto.layer.Layer(new carto.source.SQL('select * from sales where amount > 50'), style))
  const after = client.getLayers().length
  await client.removeLayers(client.getLayers())
  return { styles: await styled, pictures, attributes, tile, wrong, column, after, empty: client.getLayers().length }`

const views = `
  const map = L.map('map', { zoomAnimation: false }).setView([0, 0], 5)
  const view = new carto.filter.BoundingBoxLeaflet(map)
  const source = new carto.source.SQL("select * from sales where amount <> 'NaN'")
  const all = new carto.source.Dataset('sales')
  const count = (from) => new carto.dataview.Formula(from, 'cartodb_id')
  const seen = count(all).addFilter(view)
  const inView = [(await loaded({ seen })).seen.result]
  const moved = changed(seen)
  map.setView([0, 45], 2)
  inView.push((await moved).result)
  const { Category, Range, AND, OR } = carto.filter
  const some = new carto.source.Dataset('sales')
  const few = new Range('cartodb_id', { lte: 10 })
  const many = new Range('cartodb_id', { gt: 90 })
  some.addFilter(new OR([few, many]))
  const some2 = new carto.source.Dataset('sales')
  some2.addFilter(new AND([new Category('shop', { eq: 'B' }), new Range('amount', { gt: 0 })]))
  const either = await loaded({ one: count(some), two: count(some2) })
  const cells = new carto.layer.Aggregation({
    threshold: 1, resolution: 4, placement: carto.layer.Aggregation.placement.GRID,
    columns: { total: { aggregateFunction: carto.layer.Aggregation.operation.SUM, aggregatedColumn: 'amount' } },
  })
  const style = new carto.style.CartoCSS('#layer { marker-width: 7; }')
  const layer = new carto.layer.Layer(source, style, { id: 'cells', aggregation: cells, featureClickColumns: ['total'] })
  await client.addLayer(layer)
  const address = client._engine.getLayerGroup().getTileURLTemplate('mvt').replace('{z}/{x}/{y}', '0/0/0')
  const tile = [...new Uint8Array(await (await fetch(address)).arrayBuffer())]
  let clicks = 0
  layer.on('featureClicked', () => { clicks += 1 })
  client.getLeafletLayer().addTo(map)
  const { fetch: plain } = globalThis
  const grid = new Promise((done) => {
    globalThis.fetch = async (...given) => {
      const reply = await plain(...given)
      if (String(given[0]).includes('.grid.json')) setTimeout(done, 100, reply.status)
      return reply
    }
  })
  document.getElementById('map').dispatchEvent(new MouseEvent('click', { clientX: 200, clientY: 200, bubbles: true }))
  return { inView, filtered: [either.one.result, either.two.result], tile, grid: await grid, clicks }`

const longConfigs = `
  const count = async (sql) => (await loaded({ one: new carto.dataview.Formula(new carto.source.SQL(sql), 'cartodb_id') })).one.result
  const many = "select * from sales where shop in ('B'" + ", 'ü 😀 it''s none'".repeat(200) + ')'
  const noise = Array.from(crypto.getRandomValues(new Uint8Array(6000)), (byte) => byte.toString(16)).join('')
  return {
    plain: await count('select * from sales'),
    packed: await count(many),
    posted: await count("select * from sales where shop in ('B', '" + noise + "')"),
  }`

const publicTables = `
  const count = async (name) => (await loaded({ one: new carto.dataview.Formula(new carto.source.Dataset(name), 'cartodb_id') })).one.result
  const rows = await count('sales')
  const refused = await count('secrets').catch(({ message }) => message)
  return { rows, refused }`

const libraries = { 'carto.js': ['@carto/carto.js', '4.2.2'], leaflet: ['leaflet', '1.9.4'] } as const

type Folders = Readonly<Record<string, string>>
let unpacked: Promise<Folders | undefined> | undefined

/** Pages with the published libraries. Skips the test if they are not installed. */
async function librariesFor(t: TestContext): Promise<Folders | undefined> {
  unpacked ??= unpackLibraries()
  const folders = await unpacked
  if (!folders) t.skip('NOT RUN: neither the cache of npm nor the registry has carto.js and leaflet')
  return folders
}

async function unpackLibraries(): Promise<Folders | undefined> {
  const folders: Record<string, string> = {}
  for (const [name, [id, version]] of Object.entries(libraries)) {
    const { folder } = await unpackClient(id, version)
    if (folder === undefined) return undefined
    folders[name] = folder
  }
  return folders
}

/** The result of the script in a page of another origin, and the addresses that it requested. */
type Run = Readonly<{ answer: any; requests: readonly string[] }>

async function run(t: TestContext, folders: Folders, user: TestUser, script: string): Promise<Run> {
  const page = await (await browser(false)).newPage({ viewport: { width: 420, height: 420 } })
  const told: string[] = []
  const requests: string[] = []
  page.on('console', (message) => told.push(message.text()))
  page.on('pageerror', (error) => told.push(String(error)))
  page.on('request', (request) => requests.push(request.url()))
  try {
    await page.goto(await otherSite(t, pageOf(user, script), (name) => folders[name]))
    const answer = await page.waitForFunction('globalThis.answer', undefined, { timeout: 60_000 })
    const { done, error } = (await answer.jsonValue()) as { done?: unknown; error?: string }
    assert.equal(error, undefined)
    return { answer: done, requests }
  } catch (error) {
    return assert.fail(`${error}\n${told.join('\n')}\n${requests.slice(-5).join('\n')}`)
  } finally {
    await page.close()
  }
}

const pageOf = ({ username, masterToken, base }: TestUser, script: string) => `
<link rel="stylesheet" href="/leaflet/dist/leaflet.css">
<script src="/leaflet/dist/leaflet.js"></script><script src="/carto.js/carto.min.js"></script>
<div id="map" style="width: 400px; height: 400px"></div>
<script>
  const client = new carto.Client({
    username: '${username}', apiKey: '${masterToken}', serverUrl: '${base.replace(username, '{username}')}',
  })
  const changed = (dataview) => new Promise((done, failed) => {
    dataview.on('dataChanged', done)
    dataview.on('error', failed)
  })
  const loaded = async (dataviews) => {
    const data = Object.entries(dataviews).map(async ([name, dataview]) => [name, await changed(dataview)])
    const all = Promise.all(data)
    all.catch(() => {})
    await client.addDataviews(Object.values(dataviews))
    return Object.fromEntries(await all)
  }
  const script = async () => {${script}
  }
  script().then((done) => { globalThis.answer = { done } }, (error) => { globalThis.answer = { error: String(error.stack ?? error.message) } })
</script>`
