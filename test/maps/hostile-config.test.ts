import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askForMap, askMapTile, layerOf, mapOf } from '../support/maps/map-api.ts'
import { setup } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

const point = 'select 1 as n, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator'
const anonymous = { token: '' }

test('a config that would grow huge when expanded is refused before that', async (t) => {
  const { user } = await setup(t)
  const half = 32_000
  const attacks = {
    'a wrap with many places': layerOf('1 '.repeat(half / 2), { sql_wrap: '<%=sql%>'.repeat(half / 8) }),
    'a long wrap': layerOf(point, { sql_wrap: ' '.repeat(63_000) + '<%= sql %>'.repeat(50) }),
    'nothing but semicolons': layerOf(';'.repeat(63_000)),
    'one long analysis in every layer': {
      analyses: [{ id: 'a', type: 'source', params: { query: `select ${'1,'.repeat(16_000)}1` } }],
      layers: Array.from({ length: 20 }, () => ({ options: { source: { id: 'a' } } })),
    },
    'brackets alone': JSON.parse('['.repeat(2_000) + ']'.repeat(2_000)),
    'a deep member': { layers: [], x: JSON.parse('['.repeat(2_000) + ']'.repeat(2_000)) },
  }
  for (const [what, config] of Object.entries(attacks)) {
    const start = performance.now()
    const { status } = await askForMap(user, config, anonymous)
    assert.equal(status, 400, what)
    assert.ok(performance.now() - start < 5_000, `${what}: ${performance.now() - start} ms`)
  }
  assert.equal((await askForMap(user, layerOf(`${point};;; -- end\n;`), anonymous)).status, 200)
})

test('a wrong type of any member is 400', async (t) => {
  const { user } = await setup(t)
  const odd = { toString: 1, valueOf: 1 }
  const analyses = [{ id: 'a', type: 'source', params: { query: point } }]
  const dataviewOf = (dataview: unknown) => ({ ...layerOf(point), analyses, dataviews: { d: dataview } })
  const source = { id: 'a' }
  for (const config of [
    { ...layerOf(point), version: odd },
    { layers: [{ type: odd, options: { sql: point } }] },
    { layers: [{ id: '\ud800', options: { sql: point } }] },
    { ...layerOf(point), analyses: [{ id: 'a', type: odd }] },
    { ...layerOf(point), analyses: [{ ...analyses[0], id: '\ud800' }] },
    {
      ...layerOf(point),
      analyses,
      dataviews: { '\ud800': { type: 'formula', source, options: { operation: 'count' } } },
    },
    { ...layerOf(point, { vector_simplify_extent: odd }) },
    { ...layerOf(point, { sql_wrap: odd }) },
    dataviewOf({ type: odd, source, options: {} }),
    dataviewOf({ type: 'formula', source, options: { operation: odd, column: 'n' } }),
    dataviewOf({ type: 'formula', source, options: { operation: 'count', column: null } }),
    dataviewOf({ type: 'formula', source, options: { operation: 'count', column: 5 } }),
    dataviewOf({ type: 'aggregation', source, options: { aggregation: odd, column: 'n' } }),
    dataviewOf({ type: 'histogram', source, options: { aggregation: odd, column: 'n' } }),
  ])
    assert.equal((await askForMap(user, config)).status, 400, JSON.stringify(config))
  const sampled = layerOf(point, { metadata: { sample: { num_rows: 1, include_columns: [odd, 'n'] } } })
  assert.equal((await askForMap(user, sampled)).status, 200)
})

test("a layer's statistics are limited in size, however large its rows are", async (t) => {
  const { user } = await setup(t)
  const large = `select n as cartodb_id, repeat('x', 1000000) as a, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator
    from generate_series(1, 20) n`
  const map = await mapOf(
    user,
    layerOf(large, {
      metadata: { sample: { num_rows: 20, include_columns: ['a'] } },
      attributes: { id: 'cartodb_id', columns: ['a'] },
    }),
  )
  const { sample } = map.metadata.layers[0]!.meta.stats as { sample: unknown[] }
  assert.equal(sample.length, 4)
  const { status, bytes } = await askMapTile(user, map.layergroupid, '/0/attributes/1')
  assert.deepEqual([status, bytes.length < 1_100_000], [200, true])
  const larger = layerOf(large.replace('1000000', '2000000'), {
    attributes: { id: 'cartodb_id', columns: ['a'] },
  })
  const { layergroupid } = await mapOf(user, larger)
  assert.equal((await askMapTile(user, layergroupid, '/0/attributes/1')).status, 400)
})

test('a viewer of a named map cannot put the SQL of its layer into a literal of its sql_wrap', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table places as ${point}; create table secrets as select 'hidden' as name, 7 as n, the_geom_webmercator from places`,
  )
  const sql = `select n, 'x' as city, the_geom_webmercator from places where n::text <> '<%= kind %>'`
  const sql_wrap = `select * from (<%= sql %>) as q where q.city = '<%= city %>'`
  const template = {
    version: '0.0.1',
    name: 'wrapped',
    placeholders: {
      kind: { type: 'sql_literal', default: 'x' },
      city: { type: 'sql_literal', default: 'x' },
    },
    layergroup: { layers: [{ options: { sql, sql_wrap } }] },
  }
  assert.equal((await askMaps(user, '/api/v1/map/named', { body: template })).status, 200)
  const open = (values: object) => askMaps(user, '/api/v1/map/named/wrapped', { body: values, token: '' })
  assert.equal((await open({})).status, 200)
  const attack = ' union all select n, name, the_geom_webmercator from secrets where name <> '
  const { status, body } = await open({ city: '<%= sql %>', kind: attack })
  assert.equal(status, 200)
  const { layergroupid } = body as unknown as { layergroupid: string }
  assert.equal((await askMapTile(user, layergroupid, '/0/0/0.mvt', { token: '' })).status, 204)
})
