import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument, TileJson } from '../../src/contract/documents.ts'
import { askForMap, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { makeMap } from '../support/maps/named-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

/** 400 points on a grid of 20 by 20, each 1 km from the next, and 5 more beside the first. */
const points = `create table points as select n as cartodb_id, n % 3 as kind, n * 10.5 as price, 'it''s ' || n % 2 as name,
    timestamptz '2020-01-01 00:00Z' + n * interval '1 day' as at, st_setsrid(st_makepoint(x, y), 3857) as the_geom_webmercator
  from (select row_number() over () as n, x, y from (select 1000 * a as x, 1000 * b as y from generate_series(1, 20) a, generate_series(1, 20) b
    union all select 1000 + a, 1000 from generate_series(1, 5) a) p) q; analyze points`

const aggregated = (aggregation: unknown, options: object = {}) =>
  layerOf('select * from points', { aggregation, ...options })

async function featuresOf(user: TestUser, config: unknown, path = '/0/0/0.mvt') {
  const map = await mapOf(user, config)
  const { aggregation } = map.metadata.layers[0]!.meta as { aggregation: { mvt: boolean } }
  const { layers } = await mapTile(user, map, path)
  return { isAggregated: aggregation.mvt, features: layers.layer0 ?? [], map }
}

test('points of one cell become one with their number, only above the threshold', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const all = await featuresOf(user, aggregated(undefined))
  assert.deepEqual([all.isAggregated, all.features.length], [false, 405])
  for (const [aggregation, isAggregated] of [
    [true, false],
    [false, false],
    [{ threshold: 406 }, false],
    [{ threshold: 405 }, true],
  ] as const)
    assert.equal((await featuresOf(user, aggregated(aggregation))).isAggregated, isAggregated)
  const { features, map } = await featuresOf(user, aggregated({ threshold: 1 }))
  assert.ok(features.length < 10)
  const counts = features.map(({ properties }) => Number(properties._cdb_feature_count))
  assert.equal(
    counts.reduce((sum, each) => sum + each, 0),
    405,
  )
  // One row of each cell, with all its columns.
  const [{ id, properties }] = features as [(typeof features)[0]]
  assert.deepEqual(Object.keys(properties).sort(), [
    '_cdb_feature_count',
    'at',
    'cartodb_id',
    'kind',
    'name',
    'price',
  ])
  assert.equal(properties.price, Number(properties.cartodb_id) * 10.5)
  assert.equal(id, properties.cartodb_id)
  const whole = await mapTile(user, map, '/0/0/0.mvt', { query: { aggregation: 'false' } })
  assert.equal(whole.layers.layer0!.length, 405)
})

test('columns are aggregated, dimensions divide the cells, and filters select among them', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const columns = {
    total: { aggregate_function: 'sum', aggregated_column: 'price' },
    mean: { aggregate_function: 'avg', aggregated_column: 'price' },
    n: { aggregate_function: 'count', aggregated_column: 'name' },
    most: { aggregate_function: 'max', aggregated_column: 'name' },
    usual: { aggregate_function: 'mode', aggregated_column: 'kind' },
    dots: { aggregate_function: 'count', aggregated_column: '*' },
  }
  const world = { threshold: 1, resolution: 512, placement: 'centroid', columns }
  const { features } = await featuresOf(user, aggregated(world))
  assert.deepEqual(
    features.map(({ properties }) => properties),
    [
      {
        cartodb_id: 1,
        _cdb_feature_count: 405,
        total: 863257.5,
        mean: 2131.5,
        n: 405,
        most: "it's 1",
        usual: 0,
        dots: 405,
      },
    ],
  )
  const divided = await featuresOf(
    user,
    aggregated({ ...world, columns: {}, dimensions: { sort: 'kind', name: { column: 'name' } } }),
  )
  assert.equal(divided.features.length, 6)
  const filtered = async (filters: unknown) => {
    const dimensions = { kind: 'kind', name: 'name' }
    const { features: found } = await featuresOf(user, aggregated({ ...world, dimensions, filters }))
    return found.map(({ properties: { kind, name } }) => `${kind} ${name}`).sort()
  }
  assert.deepEqual(await filtered({ kind: { equal: 1 }, name: { equal: "it's 1" } }), ["1 it's 1"])
  assert.deepEqual(await filtered({ kind: { in: [0, 2] }, name: { not_equal: "it's 1" } }), [
    "0 it's 0",
    "2 it's 0",
  ])
  assert.deepEqual(
    await filtered({ kind: { not_in: [0, 2] }, name: [{ equal: 'x' }, { less_than: "it's 1" }] }),
    ["1 it's 0"],
  )
  assert.deepEqual(await filtered({ n: { greater_than: 67, less_than_or_equal_to: 68 } }), [
    "0 it's 1",
    "1 it's 1",
    "2 it's 0",
  ])
  assert.deepEqual(await filtered({ name: { equal: "' or 1=1 --" } }), [])
})

test('a count of * counts all rows of a cell, a count of a column those that have a value, and both can be filtered', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${points}; update points set name = null where cartodb_id > 5`)
  const countOf = (column: string) => ({ aggregate_function: 'count', aggregated_column: column })
  const columns = { dots: countOf('*'), named: countOf('name') }
  const world = { threshold: 1, resolution: 512, columns }
  const seen = async (filters: unknown) => {
    const { features } = await featuresOf(user, aggregated({ ...world, filters }))
    return features.map(({ properties: { dots, named } }) => [dots, named])
  }
  assert.deepEqual(await seen({}), [[405, 5]])
  assert.deepEqual(await seen({ dots: { equal: 405 } }), [[405, 5]])
  assert.deepEqual(await seen({ dots: { less_than: 405 } }), [])
})

test('neighbouring tiles agree on the cells that both show', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const world = { threshold: 1, resolution: 10, placement: 'centroid', columns: {} }
  const map = await mapOf(user, { ...aggregated(world), buffersize: { mvt: 64 } })
  const seen = new Map<string, Set<string>>()
  for (const [x, y] of [
    [2048, 2047],
    [2049, 2047],
    [2048, 2046],
    [2049, 2046],
  ] as const) {
    const { layers } = await mapTile(user, map, `/12/${x}/${y}.mvt`)
    for (const { properties, geometry } of layers.layer0 ?? []) {
      const [point] = geometry[0]!
      const place = `${Math.round((point!.x + 4096 * x) / 16)} ${Math.round((point!.y + 4096 * y) / 16)}`
      seen.set(
        place,
        (seen.get(place) ?? new Set()).add(`${properties.cartodb_id} ${properties._cdb_feature_count}`),
      )
    }
  }
  assert.ok(seen.size > 100)
  assert.deepEqual(
    [...seen.values()].filter((counts) => counts.size > 1),
    [],
  )
})

test('the metadata of a layer has what was requested', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const metadata = {
    geometryType: true,
    featureCount: true,
    aggrFeatureCount: 0,
    columnStats: { topCategories: 1, includeNulls: false },
    sample: { num_rows: 10, include_columns: ['cartodb_id', 'name'] },
  }
  const { map } = await featuresOf(
    user,
    aggregated({ threshold: 1, resolution: 512, columns: {} }, { metadata, dates_as_numbers: true }),
  )
  const { stats } = map.metadata.layers[0]!.meta as { stats: Record<string, never> & { sample: object[] } }
  const { sample, columns, ...rest } = stats as unknown as {
    sample: Record<string, unknown>[]
    columns: Record<string, Record<string, unknown>>
  }
  assert.deepEqual(rest, {
    estimatedFeatureCount: 405,
    geometryType: 'ST_Point',
    featureCount: 405,
    aggrFeatureCount: 1,
  })
  assert.deepEqual(columns.price, { type: 'number', min: 10.5, max: 4252.5, avg: 2131.5, sum: 863257.5 })
  assert.deepEqual(columns.name, { type: 'string', categories: [{ category: "it's 1", frequency: 203 }] })
  assert.equal(columns.at!.type, 'number')
  assert.equal(columns.at!.min, 1577923200)
  assert.deepEqual(columns.the_geom_webmercator, { type: 'geometry' })
  assert.ok(sample.length > 0 && sample.length <= 10)
  assert.deepEqual(Object.keys(sample[0]!).sort(), ['cartodb_id', 'name'])
  const plain = await mapOf(user, layerOf('select * from points', { metadata: { columns: true } }))
  assert.deepEqual((plain.metadata.layers[0]!.meta.stats as { columns: object }).columns, {
    cartodb_id: { type: 'number' },
    kind: { type: 'number' },
    price: { type: 'number' },
    name: { type: 'string' },
    at: { type: 'date' },
    the_geom_webmercator: { type: 'geometry' },
  })
})

/** In UTC: a Sunday of week 9, the last day of February, an hour before March. */
const moment =
  "select 1 as cartodb_id, timestamptz '2024-02-29T23:30:15Z' as at, st_point(0, 0, 3857) as the_geom_webmercator"

test('dimensions group times by units, as numbers or ISO texts, in a time zone', async (t) => {
  const { user } = await setup(t)
  const periodOf = async (group: object, format?: string, dates_as_numbers = true) => {
    const aggregation = {
      threshold: 1,
      columns: {},
      dimensions: { period: { column: 'at', group, format } },
    }
    const options = { aggregation, dates_as_numbers, metadata: { dimensions: true } }
    const { features, map } = await featuresOf(user, layerOf(moment, options))
    const { stats } = map.metadata.layers[0]!.meta as {
      stats: { dimensions: { period: { min: unknown; max: unknown; type: string } } }
    }
    const { period } = features[0]!.properties
    const { min, max, type } = stats.dimensions.period
    assert.deepEqual([min, max, type], [period, period, typeof period], JSON.stringify(group))
    return period
  }
  const cyclic = {
    ...{ dayOfWeek: 4, dayOfMonth: 29, dayOfYear: 60, hourOfDay: 23, minuteOfHour: 30, monthOfYear: 2 },
    ...{ quarterOfYear: 1, semesterOfYear: 1, trimesterOfYear: 1, weekOfYear: 9 },
  }
  for (const [units, value] of Object.entries(cyclic)) assert.equal(await periodOf({ units }), value, units)
  const iso = {
    ...{
      second: '2024-02-29T23:30:15',
      minute: '2024-02-29T23:30',
      hour: '2024-02-29T23',
      day: '2024-02-29',
    },
    ...{ week: '2024-W09', month: '2024-02', quarter: '2024-Q1', trimester: '2024t1', semester: '2024S1' },
    ...{ year: '2024', decade: 'D202', century: 'C21', millennium: 'M3' },
  }
  for (const [units, value] of Object.entries(iso))
    assert.equal(await periodOf({ units }, 'iso'), value, units)
  const serial = {
    ...{ second: 63844846215, minute: 1064080770, hour: 17734679, day: 738945, week: 105564, month: 24278 },
    ...{
      quarter: 8093,
      trimester: 6070,
      semester: 4047,
      year: 2024,
      decade: 202,
      century: 21,
      millennium: 3,
    },
  }
  for (const [units, value] of Object.entries(serial)) assert.equal(await periodOf({ units }), value, units)
  assert.equal(await periodOf({ units: 'day', starting: '2024' }), 60)
  assert.equal(await periodOf({ units: 'day', starting: '2024', count: 7 }), 9)
  assert.equal(await periodOf({ units: 'hour', starting: '2024-02-29', count: 12 }), 1)
  assert.equal(await periodOf({ units: 'month', timezone: 'Europe/Madrid' }, 'iso'), '2024-03')
  assert.equal(await periodOf({ units: 'hourOfDay', timezone: -3600 }), 22)
  assert.equal(await periodOf({ units: 'month' }, 'iso', false), '2024-02')
})

test('the metadata has each dimension, with the parameters of those that group by time', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const dimensions = { kind: 'kind', month: { column: 'at', group: { units: 'month' }, format: 'iso' } }
  const options = { metadata: { dimensions: true }, dates_as_numbers: true }
  const { map } = await featuresOf(user, aggregated({ threshold: 1, columns: {}, dimensions }, options))
  assert.deepEqual((map.metadata.layers[0]!.meta.stats as { dimensions: object }).dimensions, {
    kind: { type: null },
    month: {
      params: { time: 'to_timestamp("at")', timezone: 'utc', units: 'month', count: 1, format: 'iso' },
      type: 'string',
      min: '2020-01',
      max: '2021-02',
    },
  })
})

test('a statistic that takes too long is left out, and the map is still answered', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  const slow = layerOf('select p.*, pg_sleep(0.1) from points p', {
    metadata: { featureCount: true, geometryType: true },
  })
  const started = performance.now()
  const { metadata } = await mapOf(user, slow)
  assert.ok(performance.now() - started < 8_000)
  const { stats } = metadata.layers[0]!.meta as { stats: Record<string, unknown> }
  assert.equal(stats.featureCount, undefined)
  assert.ok(Number(stats.estimatedFeatureCount) > 0)
})

test('with aggregation=false the map that is made shows all points, however it is made', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  // carto.js names columns of the aggregation here.
  const attributes = { id: 'cartodb_id', columns: ['total'] }
  const config = aggregated({ threshold: 1, columns: { total: sumOf('price') } }, { attributes })
  const sent = { layers: [{ type: 'named', options: { name: 'dots' } }] }
  await makeMap(user, { version: '0.0.1', name: 'dots', layergroup: config })
  const ways = [
    ['/api/v1/map', { body: config }],
    ['/api/v1/map', { query: { config: JSON.stringify(config) } }],
    ['/api/v1/map', { body: sent }],
    ['/api/v1/map/named/dots', { body: {} }],
    ['/api/v1/map/named/dots/jsonp', {}],
  ] as const
  for (const [path, call] of ways)
    for (const [aggregation, isAggregated] of [
      ['false', false],
      ['true', true],
    ] as const) {
      const query = { ...('query' in call && call.query), aggregation }
      const { status, bytes, body } = await askMaps(user, path, { ...call, query })
      assert.equal(status, 200, `${path} ${bytes}`)
      const made = body as unknown as LayergroupDocument
      assert.deepEqual(made.metadata.layers[0]!.meta.aggregation, { png: false, mvt: isAggregated }, path)
      const { layers } = await mapTile(user, made, '/0/0/0.mvt')
      assert.equal(layers.layer0!.length === 405, !isAggregated, path)
    }
})

test('a TileJSON of a query with aggregation=false has the fields and the tiles of all points', async (t) => {
  const { user } = await setup(t)
  const source = `select n as cartodb_id, st_point(0, 0, 3857) as the_geom_webmercator from generate_series(1, 100000) n`
  for (const [aggregation, fields] of [
    ['true', ['_cdb_feature_count', 'cartodb_id']],
    ['false', ['cartodb_id']],
  ] as const) {
    const { status, body } = await askMaps(user, '/carto/sql', { query: { source, aggregation } })
    assert.equal(status, 200)
    const { vector_layers } = body as unknown as TileJson
    assert.deepEqual(Object.keys(vector_layers[0]!.fields).sort(), fields)
  }
})

const sumOf = (column: string) => ({ aggregate_function: 'sum', aggregated_column: column })

test('an invalid aggregation is refused with the reason', async (t) => {
  const { user } = await setup(t)
  await user.sql(points)
  for (const [aggregation, text] of [
    [{ resolution: 0 }, /^Invalid resolution, should be a number/],
    [{ threshold: 'x' }, /^Invalid threshold/],
    [
      { columns: { a: { aggregate_function: 'drop', aggregated_column: 'b' } } },
      /^Unsupported aggregation function drop/,
    ],
    [{ columns: { a: { aggregate_function: 'sum' } } }, /^Invalid aggregated column/],
    ...['avg', 'sum', 'min', 'max', 'mode'].map(
      (aggregate_function) =>
        [
          { columns: { a: { aggregate_function, aggregated_column: '*' } } },
          new RegExp(`^Invalid aggregated column, ${aggregate_function} needs a column`),
        ] as const,
    ),
    [{ filters: { a: { equal: 1 } } }, /^Invalid filtered column: a$/],
    [{ dimensions: { a: 'kind' }, filters: { a: { like: 1 } } }, /^Invalid filter parameter name: like$/],
    [
      { dimensions: { a: 'kind' }, filters: { a: { equal: {} } } },
      /^The filter equal needs numbers or texts$/,
    ],
    [{ dimensions: { cartodb_id: 'kind' } }, /^Two columns of the aggregation are named cartodb_id$/],
    ...(
      [
        [{ column: 'at', group: { units: 'fortnight' } }, 'units fortnight are not known'],
        [{ column: 'at', group: 'month' }, 'group must be an object'],
        [{ column: 'at', group: { units: 'month' }, format: 'roman' }, 'the format roman is neither iso'],
        [{ column: 'at', group: { units: 'month', count: 0.5 } }, 'count must be a whole number'],
        [{ column: 'at', group: { units: 'hourOfDay', count: 2 } }, 'count 2 is not for hourOfDay'],
        [{ column: 'at', group: { units: 'day', count: 2 }, format: 'iso' }, 'several units have no iso'],
        [{ column: 'at', group: { units: 'day', timezone: "x')" } }, 'timezone must be a name'],
        [{ column: 'at', group: { units: 'day', starting: '2024-02-30' } }, 'starting must be a date'],
      ] as const
    ).map(([a, text]) => [{ dimensions: { a } }, new RegExp(`^Invalid time dimension a: ${text}`)] as const),
    [
      { dimensions: { a: { column: 'at', group: { units: 'day', timezone: 'Here/There' } } } },
      /time zone "Here/,
    ],
    [{ dimensions: { a: { column: 'name', group: { units: 'day' } } } }, /"name" is neither date nor number/],
    [{ dimensions: { a: { column: 'none', group: { units: 'day' } } } }, /"none" does not exist/],
    // Caught early: each tile would fail.
    [{ threshold: 1, dimensions: { a: 'none' } }, /"none" does not exist/],
    [{ threshold: 1, columns: { a: sumOf('none') } }, /none does not exist/],
    [{ threshold: 1, columns: { a: sumOf('name') } }, /sum\(text\) does not exist/],
    [{ threshold: 1, dimensions: { a: 'name' }, filters: { a: { equal: 1 } } }, /operator does not exist/],
  ] as const) {
    const { status, body } = await askForMap(user, aggregated(aggregation))
    assert.equal(status, 400, String(text))
    assert.match((body as unknown as { errors: string[] }).errors[0]!, text)
  }
})
