import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../support/http/ask.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'
import { askTiles, lockTable, tileOf } from '../support/tiles/tile-api.ts'

const slow = `create table t (n int, g geometry(Point, 3857)); insert into t values (1, st_point(0, 0, 3857));
  create view slow as select pg_sleep(60)::text, g from t`

/** Tile statements that run in the user's database. The look-up of a layer needs no slot. */
async function runningTiles({ admin, user }: Setup): Promise<number> {
  const { rows } = await admin(
    `select pid from pg_stat_activity where datname = $1 and application_name = 'cartage tile' and state = 'active'
       and query ~ 'st_asmvt'`,
    [user.account.database],
  )
  return rows.length
}

test('a tile that takes too long is 429 with an empty body and the reason in a header', async (t) => {
  const house = await setup(t, { config: { tileTimeoutMs: 500 } })
  const { user } = house
  await user.sql(slow)
  const reply = await askTiles(user, '/slow/0/0/0')
  assert.deepEqual([reply.status, reply.bytes.length], [429, 0])
  assert.equal(reply.headers.get('content-type'), 'application/x-protobuf')
  assert.equal(reply.headers.get('carto-tile-error'), 'timeout')
  assert.ok(Number(reply.headers.get('retry-after')) > 0)
  await eventually(async () => assert.equal(await runningTiles(house), 0))
  // The view switches off the server's limit; the service measures the time too.
  await user.sql(`create function forever() returns text language plpgsql as $$ begin
      perform set_config('statement_timeout', '0', true);
      loop begin perform pg_sleep(5); exception when query_canceled then null; end; end loop; end $$;
    create view stubborn as select forever(), g from t`)
  assert.equal((await askTiles(user, '/stubborn/0/0/0')).headers.get('carto-tile-error'), 'timeout')
  await eventually(async () => assert.equal(await runningTiles(house), 0))
})

test('a shape of ten million vertices ends within the limits', async (t) => {
  const { user } = await setup(t, { config: { tileTimeoutMs: 2_000 } })
  await user.sql(
    `create table huge as select 1 as n, st_segmentize('linestring(0 0, 10 10)'::geometry, 1.4142e-6) as g`,
  )
  assert.equal((await user.sql('select st_npoints(g) > 9e6 as is_huge from huge')).rows[0].is_huge, true)
  const startedAt = performance.now()
  const reply = await askTiles(user, '/huge/0/0/0')
  assert.ok(performance.now() - startedAt < 5_000)
  assert.ok(reply.status === 200 || reply.headers.get('carto-tile-error') === 'timeout', `${reply.status}`)
})

test('a tile beyond the size limit is refused, and fewer columns make it smaller', async (t) => {
  const { user } = await setup(t, { config: { tileMaxBytes: 10_000 } })
  await user.sql(
    `create table t as select repeat(md5(n::text), 50) as long, st_point(n, n, 3857) as g from generate_series(1, 100) n`,
  )
  const reply = await askTiles(user, '/t/0/0/0')
  assert.deepEqual([reply.status, reply.bytes.length], [429, 0])
  assert.equal(reply.headers.get('carto-tile-error'), 'size')
  assert.match(
    reply.headers.get('cartage-hint')!,
    /larger than 10000 bytes\. Ask for fewer columns \(columns=a,b\)/,
  )
  assert.equal((await tileOf(user, '/t/0/0/0', { query: { columns: '' } })).layers.t!.length, 100)
})

test('of more features than the limit a tile shows one point per cell and the largest shapes', async (t) => {
  const { user } = await setup(t, { config: { tileMaxFeatures: 400 } })
  await user.sql(`create table dots as select n, st_point((n % 100 - 50) * 3e5, (n / 100 - 50) * 3e5, 3857)::geometry(Point, 3857) as g from generate_series(0, 9999) n;
    create view seen as select n, g::geometry as g from dots;
    create table parts (n int, g geometry(Point, 3857)) partition by range (n); create table part partition of parts default; insert into parts select * from dots;
    create table squares as select n, st_makeenvelope(0, 0, n * 1e4, n * 1e4, 3857) as g from generate_series(1, 1000) n`)
  for (const name of ['dots', 'seen', 'parts']) {
    const { layers, headers } = await tileOf(user, `/${name}/0/0/0`)
    const kept = layers[name]!.length
    assert.ok(kept > 200 && kept <= 400, `${name} ${kept}`)
    assert.equal(headers.get('carto-tile-truncated'), `${name}=${kept}`)
    const cells = new Set(
      layers[name]!.map(({ geometry }) => {
        const { x, y } = geometry[0]![0]!
        return `${Math.floor(x / 205)} ${Math.floor(y / 205)}`
      }),
    )
    assert.ok(cells.size > 200, `${cells.size} cells`)
  }
  const squares = await tileOf(user, '/squares/0/0/0', { query: { limit: '10' } })
  assert.equal(squares.headers.get('carto-tile-truncated'), 'squares=10')
  assert.deepEqual(
    squares.layers.squares!.map(({ properties }) => properties.n).toSorted(),
    Array.from({ length: 10 }, (_, place) => 991 + place)
      .map((n) => n)
      .toSorted(),
  )
  const whole = await tileOf(user, '/dots/6/32/31')
  assert.equal(whole.headers.get('carto-tile-truncated'), null)
})

test("beyond an account's limit of queries tiles wait, then are refused; SQL and cached tiles are served", async (t) => {
  const house = await setup(t, { config: { tilesPerAccount: 2, tileWaitMs: 300 } })
  const { user } = house
  await user.sql(slow)
  const stop = new AbortController()
  const call = (limit: string) => ({ query: { limit }, signal: stop.signal })
  const running = ['1', '2'].map((limit) => askTiles(user, '/slow/0/0/0', call(limit)).catch(() => undefined))
  await eventually(async () => assert.equal(await runningTiles(house), 2))
  const reply = await askTiles(user, '/slow/0/0/0', { query: { limit: '3' } })
  assert.deepEqual([reply.status, reply.headers.get('carto-tile-error')], [429, 'busy'])
  for (const name of [
    'retry-after',
    'carto-rate-limit-limit',
    'carto-rate-limit-remaining',
    'carto-rate-limit-reset',
  ])
    assert.notEqual(reply.headers.get(name), null, name)
  assert.equal((await ask(user, 'select 1')).status, 200)
  const other = await house.createUser()
  await other.sql(slow)
  assert.equal((await askTiles(other, '/t/0/0/0')).status, 200)
  stop.abort()
  await Promise.all(running)
  await eventually(async () => assert.equal(await runningTiles(house), 0))
  assert.equal((await askTiles(user, '/t/0/0/0')).status, 200)
})

test('concurrent requests for one tile share one query, which ends when the last has disconnected', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(slow)
  const stops = Array.from({ length: 5 }, () => new AbortController())
  const asked = stops.map(({ signal }) => askTiles(user, '/slow/0/0/0', { signal }).catch(() => 'gone'))
  await eventually(async () => assert.equal(await runningTiles(house), 1))
  for (const stop of stops.slice(1)) stop.abort()
  await sleep(300)
  assert.equal(await runningTiles(house), 1)
  stops[0]!.abort()
  await eventually(async () => assert.equal(await runningTiles(house), 0))
  assert.deepEqual(await Promise.all(asked), Array(5).fill('gone'))
})

test('tiles have their own rate limit', async (t) => {
  const { user } = await setup(t, { config: { rateLimitTile: { count: 1, seconds: 60, burst: 2 } } })
  await user.sql(slow)
  const statuses = []
  for (let n = 0; n < 3; n += 1) statuses.push(await askTiles(user, '/t/0/0/0'))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [200, 200, 429],
  )
  assert.equal(statuses[2]!.headers.get('carto-tile-error'), 'rate-limit')
  assert.equal(statuses[2]!.bytes.length, 0)
  assert.equal((await askTiles(user, '/t')).status, 200)
})

test('a tile that waits for a lock is read once for all requests meanwhile', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(`${slow}; select CDB_CartodbfyTable('t')`)
  const free = await lockTable(house, 't')
  const asked = Array.from({ length: 10 }, () => askTiles(user, '/t/0/0/0'))
  await eventually(async () => assert.equal(await runningTiles(house), 1))
  await sleep(300)
  assert.equal(await runningTiles(house), 1)
  await free()
  for (const { status, layers } of await Promise.all(asked))
    assert.deepEqual([status, layers.t?.length], [200, 1])
})
