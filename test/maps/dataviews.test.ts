import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../support/keys/client-of.ts'
import { askForMap, mapOf, mapTile } from '../support/maps/map-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

const sales = `create table sales as select n as cartodb_id, n::float8 as amount, chr(65 + n % 8) as shop, timestamptz '2020-01-15 12:00Z' + n * interval '1 month' as at,
    st_setsrid(st_makepoint(n * 100000, 0), 3857) as the_geom_webmercator from generate_series(1, 100) n;
  update sales set amount = 'NaN' where cartodb_id = 100; update sales set amount = null, shop = null where cartodb_id = 99`

const config = {
  layers: [
    {
      type: 'cartodb',
      options: { source: { id: 'a0' }, attributes: { id: 'cartodb_id', columns: ['shop', 'at'] } },
    },
  ],
  analyses: [{ id: 'a0', type: 'source', params: { query: 'select * from sales' } }],
  dataviews: {
    total: { type: 'formula', source: { id: 'a0' }, options: { column: 'amount', operation: 'sum' } },
    rows: { type: 'formula', source: { id: 'a0' }, options: { operation: 'count' } },
    shops: { type: 'aggregation', source: { id: 'a0' }, options: { column: 'shop', aggregation: 'count' } },
    largest: {
      type: 'aggregation',
      source: { id: 'a0' },
      options: { column: 'shop', aggregation: 'max', aggregationColumn: 'amount' },
    },
    all: { type: 'formula', source: { id: 'a0' }, options: { operation: 'count', column: '*' } },
    letters: { type: 'histogram', source: { id: 'a0' }, options: { column: 'shop' } },
    amounts: { type: 'histogram', source: { id: 'a0' }, options: { column: 'amount' } },
    times: { type: 'histogram', source: { id: 'a0' }, options: { column: 'at', aggregation: 'year' } },
  },
}

async function made(user: TestUser, filters?: object) {
  const query = filters && { filters: JSON.stringify(filters) }
  const map = await mapOf(user, config, query ? { query } : {})
  const ask = async (name: string, parameters: Record<string, string> = {}) => {
    const reply = await askMaps(user, `/api/v1/map/${map.layergroupid}/dataview/${name}`, {
      query: parameters,
    })
    assert.equal(reply.status, 200, reply.bytes.toString())
    return reply.body as unknown as Record<string, unknown> & {
      bins: Record<string, number>[]
      categories: { category: string; value: number; agg: boolean }[]
    }
  }
  return { map, ask }
}

test('formulas and categories have the shapes of the classic API', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const { map, ask } = await made(user)
  const { url } = map.metadata.dataviews.total as { url: { http: string } }
  assert.equal(url.http, `${user.base}/api/v1/map/${map.layergroupid}/dataview/total`)
  assert.deepEqual(await ask('total'), {
    type: 'formula',
    operation: 'sum',
    result: 4851,
    nulls: 1,
    nans: 1,
    infinities: 0,
  })
  assert.equal((await ask('rows')).result, 100)
  // 10 degrees are 1113 km.
  assert.equal((await ask('rows', { bbox: '0,-1,10,1' })).result, 11)
  assert.equal((await ask('rows', { bbox: '170,-1,190,1' })).result, 0)
  assert.equal((await ask('rows', { bbox: '350,-1,370,1' })).result, 11)
  const shops = await ask('shops')
  assert.deepEqual(
    [shops.type, shops.aggregation, shops.count, shops.nulls, shops.categoriesCount, shops.max, shops.min],
    ['aggregation', 'count', 100, 1, 8, 13, 12],
  )
  assert.equal(shops.categories.length, 6)
  assert.deepEqual(shops.categories.at(-1), { category: 'Other', value: 36, agg: true })
  assert.equal((await ask('shops', { categories: '3' })).categories.length, 3)
  assert.equal((await ask('all')).result, 100)
  // One shop sold NaN; categories have finite numbers only.
  const largest = await ask('largest', { categories: '9' })
  assert.deepEqual([largest.max, largest.min, largest.nulls, largest.nans], [98, 91, 1, 1])
  assert.deepEqual(largest.categories[0], { category: 'C', value: 98, agg: false })
  const found = await ask('shops/search', { q: 'b' })
  assert.deepEqual(found, {
    type: 'aggregation',
    aggregation: 'count',
    categories: [{ category: 'B', value: 13 }],
  })
  assert.deepEqual((await ask('shops/search', { q: '%' })).categories, [])
  assert.deepEqual((await ask('shops/search', { q: `' or true --` })).categories, [])
})

test('histograms of numbers and of dates have bins', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const { ask } = await made(user)
  const amounts = await ask('amounts', { bins: '10' })
  const { bins, ...summary } = amounts
  assert.deepEqual(summary, {
    type: 'histogram',
    bin_width: 9.7,
    bins_count: 10,
    bins_start: 1,
    nulls: 1,
    infinities: 0,
    nans: 1,
    avg: 49.5,
  })
  assert.equal(
    bins.reduce((sum, { freq }) => sum + freq!, 0),
    98,
  )
  assert.deepEqual(bins[0], { bin: 0, min: 1, max: 10, avg: 5.5, freq: 10 })
  const part = await ask('amounts', { start: '11', end: '20', bins: '3' })
  assert.deepEqual(
    part.bins.map(({ bin, freq }) => [bin, freq]),
    [
      [0, 3],
      [1, 3],
      [2, 4],
    ],
  )
  const years = await ask('times')
  assert.deepEqual(
    [years.aggregation, years.bins_count, years.timestamp_start, years.bins[0]],
    [
      'year',
      9,
      1577836800,
      { bin: 0, min: 1577836800, max: 1577836800, avg: 1577836800, freq: 11, timestamp: 1577836800 },
    ],
  )
  assert.equal((await ask('times', { aggregation: 'auto' })).aggregation, 'month')
  assert.equal((await ask('times', { aggregation: 'month', offset: '86400' })).bins[0]!.timestamp, 1580428800)
})

test('filters of dataviews apply to the layers and the other dataviews of their source', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const first = Date.UTC(2020, 0, 1) / 1000
  const { map, ask } = await made(user, {
    dataviews: { shops: { accept: ['B', `it's`] }, times: { max: first + 3 * 365 * 86_400 } },
  })
  assert.notEqual(map.layergroupid, (await made(user)).map.layergroupid)
  assert.equal((await ask('rows')).result, 5)
  assert.equal((await ask('rows', { no_filters: '1' })).result, 100)
  assert.equal((await ask('shops')).categoriesCount, 8)
  assert.equal((await ask('shops', { own_filter: '1' })).categoriesCount, 1)
  assert.equal((await mapTile(user, map, '/0/0/0.mvt')).layers.layer0!.length, 5)
  const rejected = await made(user, { dataviews: { shops: { reject: ['B'] }, amounts: { min: 90 } } })
  assert.equal((await rejected.ask('rows')).result, 9)
})

test('the attributes of a feature are those its layer lists, and its id is bound as a value', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(sales)
  const { map } = await made(user)
  const client = clientOf(t, house)
  assert.deepEqual(await client.maps.feature(map.layergroupid, '0', '7'), {
    shop: 'H',
    at: '2020-08-15T12:00:00+00:00',
  })
  const ask = (path: string) => askMaps(user, `/api/v1/map/${map.layergroupid}/${path}`)
  for (const [path, status] of [
    ['layer0/attributes/1', 200],
    ['0/attributes/101', 404],
    ['0/attributes/x', 400],
    ['0/attributes/1%20or%20true', 400],
    ['5/attributes/1', 400],
  ] as const)
    assert.equal((await ask(path)).status, status, path)
  await user.sql('update sales set cartodb_id = 1')
  assert.equal((await ask('0/attributes/1')).status, 400)
  const silent = await mapOf(user, { layers: [{ options: { sql: 'select * from sales' } }] })
  const { status, body } = await askMaps(user, `/api/v1/map/${silent.layergroupid}/0/attributes/1`)
  assert.deepEqual([status, body.errors], [400, ['Layer 0 has no exposed attributes']])
  assert.equal((await client.maps.dataview(map.layergroupid, 'rows')).result, 100)
  assert.equal(
    ((await client.maps.searchDataview(map.layergroupid, 'shops', { q: 'C' })).categories as []).length,
    1,
  )
})

test('an invalid dataview is refused with the reason', async (t) => {
  const { user } = await setup(t)
  await user.sql(sales)
  const source = { id: 'a0' }
  for (const [dataview, text] of [
    [{ type: 'list', source, options: {} }, /^Invalid dataview type: 'list'$/],
    [{ type: 'formula', options: {} }, /not found in analyses/],
    [
      { type: 'formula', source, options: { operation: 'drop', column: 'a' } },
      /^Formula does not support 'drop' operation$/,
    ],
    [{ type: 'histogram', source, options: {} }, /^Histogram expects 'column'/],
    [
      { type: 'aggregation', source, options: { column: 'a', aggregation: 'sum' } },
      /is missing some options: aggregationColumn$/,
    ],
  ] as const) {
    const reply = await askForMap(user, { ...config, dataviews: { d: dataview } })
    const body = reply.body as unknown as { errors: string[]; errors_with_context: { type: string }[] }
    assert.equal(reply.status, 400)
    assert.match(body.errors[0]!, text)
    assert.equal(body.errors_with_context[0]!.type, 'dataview')
  }
  const { layergroupid } = await mapOf(user, config)
  for (const path of [
    'nothing',
    'times?aggregation=second',
    'times?aggregation=fortnight',
    'rows?bbox=1,2',
    'rows?own_filter=1&no_filters=1',
    'amounts?bins=1000000',
    'amounts?start=x',
    'amounts/search?q=1',
    'letters',
  ]) {
    const { status, body } = await askMaps(user, `/api/v1/map/${layergroupid}/dataview/${path}`)
    assert.deepEqual([status, body.errors_with_context[0]!.type], [400, 'dataview'], path)
  }
})
