import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askForMap, askMapTile, layerOf, mapOf, mapTile } from '../support/maps/map-api.ts'
import { eventually, setup } from '../support/service/setup.ts'
import { askMaps, lockTable } from '../support/tiles/tile-api.ts'

test('a tile beyond a limit is 429 with an empty body, and the reason and what to do in headers', async (t) => {
  const { user } = await setup(t, { config: { tileTimeoutMs: 500, tileMaxBytes: 2_000 } })
  const slow = await mapOf(
    user,
    layerOf('select pg_sleep(60), st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator'),
  )
  const large = await mapOf(
    user,
    layerOf(`select repeat('x', 5000) as x, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator`),
  )
  for (const [{ layergroupid }, reason, hint] of [
    [slow, 'timeout', /The limit: 500 ms/],
    [
      large,
      'size',
      /^The tile is larger than 2000 bytes\. Ask for fewer columns .* In a map of SQL, select fewer$/,
    ],
  ] as const) {
    const reply = await askMapTile(user, layergroupid, '/0/0/0.mvt')
    assert.deepEqual(
      [reply.status, reply.bytes.length, reply.headers.get('carto-tile-error')],
      [429, 0, reason],
    )
    assert.ok(reply.headers.get('retry-after'))
    assert.match(reply.headers.get('cartage-hint')!, hint)
  }
})

test('a map or a dataview that takes too long is 429 as JSON, whose subtype is datasource', async (t) => {
  const house = await setup(t, { config: { tileTimeoutMs: 500 } })
  const { user } = house
  await user.sql('create table t as select 1 as n, st_point(0, 0, 3857) as the_geom_webmercator')
  const query = 'select n from generate_series(1, 2) n, pg_sleep(60)'
  const { layergroupid } = await mapOf(user, {
    layers: [],
    analyses: [{ id: 'a', type: 'source', params: { query } }],
    dataviews: { n: { type: 'formula', source: { id: 'a' }, options: { operation: 'max', column: 'n' } } },
  })
  const unlock = await lockTable(house, 't')
  const answers = [
    await askMapTile(user, layergroupid, '/dataview/n'),
    await askForMap(user, layerOf('select * from t')),
  ]
  await unlock()
  for (const { status, body, headers } of answers) {
    const { errors_with_context } = body as unknown as { errors_with_context: Record<string, unknown>[] }
    const [{ type, subtype, message }] = errors_with_context as [Record<string, unknown>]
    assert.deepEqual([status, type, subtype], [429, 'limit', 'datasource'])
    assert.match(String(message), /The limit: 500 ms/)
    assert.equal(headers.get('carto-tile-error'), null)
  }
})

test('of too many features a tile shows the largest shapes, and one point per cell', async (t) => {
  const { user } = await setup(t, { config: { tileMaxFeatures: 100 } })
  const map = await mapOf(user, {
    layers: [
      {
        id: 'points',
        options: {
          sql: 'select st_setsrid(st_point(n * 1000, 0), 3857) as the_geom_webmercator from generate_series(1, 5000) n',
        },
      },
      {
        id: 'shapes',
        options: {
          sql: 'select n, st_setsrid(st_buffer(st_point(0, 0), n * 1000, 1), 3857) as the_geom_webmercator from generate_series(1, 500) n',
        },
      },
    ],
  })
  const { layers, headers } = await mapTile(user, map, '/0/0/0.mvt')
  assert.equal(Math.min(...layers.shapes!.map(({ properties }) => Number(properties.n))), 401)
  assert.ok(layers.points!.length > 0 && layers.points!.length <= 100)
  assert.match(headers.get('carto-tile-truncated')!, /^points=\d+, shapes=100$/)
})

test('concurrent requests for one tile share one query, which ends when the last has disconnected', async (t) => {
  const { user, admin } = await setup(t)
  const map = await mapOf(
    user,
    layerOf('select pg_sleep(30), st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator'),
  )
  const running = async () => {
    const { rows } = await admin(
      `select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`,
    )
    return (rows[0] as { n: number }).n
  }
  const leave = new AbortController()
  const asked = Array.from({ length: 5 }, () =>
    askMapTile(user, map.layergroupid, '/0/0/0.mvt', { signal: leave.signal }).catch(() => 'gone'),
  )
  await eventually(async () => assert.equal(await running(), 1))
  leave.abort()
  assert.deepEqual(await Promise.all(asked), Array(5).fill('gone'))
  await eventually(async () => assert.equal(await running(), 0))
})

test('a tile is compressed once per encoding for all requests', async (t) => {
  const { user } = await setup(t)
  const map = await mapOf(
    user,
    layerOf(
      `select n, 'some text' as x, st_setsrid(st_point(n, n), 3857) as the_geom_webmercator from generate_series(1, 500) n`,
    ),
  )
  const plain = await mapTile(user, map, '/0/0/0.mvt', { headers: { 'accept-encoding': 'identity' } })
  assert.equal(plain.headers.get('content-encoding'), null)
  const response = await fetch(
    `${user.base}/api/v1/map/${map.layergroupid}/0/0/0.mvt?api_key=${user.masterToken}`,
    {
      headers: { 'accept-encoding': 'gzip' },
    },
  )
  assert.equal(response.headers.get('content-encoding'), 'gzip')
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), plain.bytes)
})

test('a user has at most 10,000 maps: those created without a key go first, and unused ones after a day', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const { userId } = user.account
  const fill = (isPublic: boolean, count: number) =>
    control.query(
      `insert into cartage.maps (user_id, id, config, aggregated, is_public, used_at)
       select $1, md5($2 || n), '{}', '{}', $2::boolean, clock_timestamp() - n * interval '1 second' from generate_series(1, $3) n`,
      [userId, String(isPublic), count],
    )
  const counts = async () => {
    const { rows } = await control.query(
      'select is_public, count(*)::int as n from cartage.maps where user_id = $1 group by 1 order by 1',
      [userId],
    )
    return rows.map(({ is_public, n }) => [is_public, n])
  }
  await fill(true, 30)
  await fill(false, 9_980)
  const config = layerOf('select null::geometry as the_geom_webmercator')
  await mapOf(user, config)
  assert.deepEqual(await counts(), [
    [false, 9_981],
    [true, 19],
  ])
})

test('a map is kept for a day after its last use, and its use is recorded once an hour', async (t) => {
  const { user, service } = await setup(t)
  const { control } = service.services.databases
  const { userId } = user.account
  const config = JSON.stringify(layerOf('select null::geometry as the_geom_webmercator'))
  const keep = (id: string, hours: number) =>
    control.query(
      `insert into cartage.maps (user_id, id, config, aggregated, is_public, used_at)
       values ($1, $2, $3, '{f}', true, clock_timestamp() - make_interval(hours => $4))`,
      [userId, id, config, hours],
    )
  const [old, late] = ['a'.repeat(32), 'b'.repeat(32)] as const
  await keep(old, 25)
  await keep(late, 23)
  assert.equal((await askMapTile(user, old, '/0/0/0.mvt')).status, 400)
  assert.equal((await askMapTile(user, late, '/0/0/0.mvt')).status, 204)
  const { rows } = await control.query(
    `select id, used_at > clock_timestamp() - interval '1 minute' as is_new from cartage.maps where user_id = $1 order by id`,
    [userId],
  )
  assert.deepEqual(rows, [
    { id: old, is_new: false },
    { id: late, is_new: true },
  ])
  await mapOf(user, layerOf('select null::geometry as the_geom_webmercator'))
  const { rows: left } = await control.query('select id from cartage.maps where id = $1', [old])
  assert.deepEqual(left, [])
})

test('creating maps is rate-limited, and without a key a config has at most 64 KB', async (t) => {
  const { user } = await setup(t, { config: { rateLimitMap: { count: 1, seconds: 60, burst: 2 } } })
  const config = layerOf('select null::geometry as the_geom_webmercator')
  const long = layerOf('select null::geometry as the_geom_webmercator', { cartocss: 'x'.repeat(64 * 1024) })
  assert.equal((await askForMap(user, long)).status, 200)
  const publicly = await askForMap(user, long, { token: '' })
  assert.equal(publicly.status, 400)
  assert.match(String((publicly.body as unknown as { errors: string[] }).errors[0]), /longer than 65536/)
  await askForMap(user, config)
  const limited = await askForMap(user, config)
  assert.equal(limited.status, 429)
  const { errors_with_context } = limited.body as unknown as { errors_with_context: object[] }
  assert.deepEqual((errors_with_context[0] as { type: string; subtype: string }).subtype, 'rate-limit')
  assert.ok(limited.headers.get('carto-rate-limit-limit'))
})

test('named maps and dataviews have their own rate limits, and JSONP gets the refusal as 200', async (t) => {
  const rate = { count: 1, seconds: 60, burst: 1 }
  const { user } = await setup(t, {
    config: { rateLimitNamed: rate, rateLimitDataview: rate, rateLimitMap: rate },
  })
  for (const path of ['/api/v1/map/named', '/api/v1/map/unknown/dataview/n', '/api/v1/map']) {
    assert.notEqual((await askMaps(user, path)).status, 429, path)
    const { status, headers, body } = await askMaps(user, path)
    assert.deepEqual([status, headers.get('carto-rate-limit-remaining')], [429, '0'], path)
    assert.match(`${headers.get('retry-after')} ${headers.get('carto-rate-limit-reset')}`, /^\d+ \d+$/)
    const [context] = body.errors_with_context
    assert.deepEqual([context!.type, context!.subtype], ['limit', 'rate-limit'])
  }
  const script = await askMaps(user, '/api/v1/map', { query: { callback: 'f' } })
  assert.equal(script.status, 200)
  assert.match(script.bytes.toString(), /^\/\*\*\/f\(\{"errors":\["You are over the limits/)
})

test('a config of 60 KB fits into an address', async (t) => {
  const { user } = await setup(t)
  const config = JSON.stringify(
    layerOf(`select null::geometry as the_geom_webmercator /*${'x'.repeat(60_000)}*/`),
  )
  const reply = await askMaps(user, '/api/v1/map', { query: { config } })
  assert.equal(reply.status, 200)
})
