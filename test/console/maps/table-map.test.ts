import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../../support/keys/keys-client.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible } from '../support/axe.ts'
import { colourAt, drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'

test('a table is drawn by tiles: cells that count all rows when zoomed out, points when zoomed in, and a click lists the rows', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(`create table quakes as select i as "<img src=x onerror=alert(1)>", '<b>' || i as name,
      st_setsrid(st_point(7 + (i % 200) * 0.01, 50 + (i / 200) * 0.01), 4326) as the_geom from generate_series(0, 30000) i;
    select cdb_cartodbfytable('quakes'); analyze quakes`)
  const asked: string[] = []
  page.on('request', (request) => {
    const [tile] = /(?<=\/api\/v1\/map\/[^/]+\/)\d+\/\d+\/\d+(?=\.mvt)/.exec(request.url()) ?? []
    if (tile) asked.push(tile)
  })
  await signInAt('/tables/public/quakes/map')
  await page.getByText('about 30,001 rows').waitFor()
  await eventually(async () => assert.ok(await onMap(page, (map) => map.loaded())), 60_000)
  await onMap(page, (map) => map.jumpTo({ center: [180, 0], zoom: 0 }))
  await eventually(async () => assert.ok(asked.includes('0/0/0')), 60_000)
  await eventually(async () => assert.ok(await onMap(page, (map) => map.loaded())), 60_000)
  const whole = asked.filter((tile) => tile === '0/0/0')
  assert.equal(whole.length, 1, 'a tile shown twice on the map is requested once')
  await onMap(page, (map) => map.jumpTo({ center: [8, 50.5], zoom: 5 }))
  await page.getByText('a dot stands for all rows around it').waitFor()
  // The old tile is shown until the new one is drawn.
  await eventually(async () => {
    const dots = [...(await drawnOf(page, 'cells')), ...(await drawnOf(page, 'points'))]
    const counted = dots.reduce((sum, { properties }) => sum + Number(properties.n), 0)
    assert.equal(counted, 30_001)
  }, 60_000)
  // The features of a layer are loaded before they are drawn.
  await eventually(async () =>
    assert.notDeepEqual(await colourAt(page, 8, 50.7), await colourAt(page, 12, 48)),
  )
  await assertAccessible(page)

  await onMap(page, (map) => map.jumpTo({ center: [7.1, 50.1], zoom: 13 }))
  await eventually(async () => {
    const { length: points } = await drawnOf(page, 'points')
    assert.ok(points > 20 && points < 200, `${points} points`)
  }, 60_000)
  await page.getByText('a dot stands for all rows around it').waitFor({ state: 'detached' })
  const { x, y } = await onMap(page, (map) => map.project([7.1, 50.1]))
  await page.locator('.map').click({ position: { x, y } })
  const here = page.getByRole('complementary', { name: 'Rows at this place' })
  await here.getByText('<b>2010').waitFor()
  await here.getByText('<img src=x onerror=alert(1)>').first().waitFor()
})

test('a tile that leaves the view cancels its statement in the database', async (t) => {
  const { signInAt, goTo, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(`create table quakes as select st_setsrid(st_point(i, i), 4326) as the_geom from generate_series(0, 9) i;
    create view slow as select the_geom from quakes, pg_sleep(case when current_query() like '%st_asmvt%' then 60 else 0 end)`)
  await signInAt('/tables/public/slow/map')
  const running = async () =>
    (
      await user.sql(
        "select from pg_stat_activity where query like '%st_asmvt%' and state = 'active' and pid <> pg_backend_pid()",
      )
    ).rowCount
  await eventually(async () => assert.ok((await running())! > 0), 60_000)
  await goTo('/account')
  await eventually(async () => assert.equal(await running(), 0), 60_000)
})

test('tables of few points, lines and areas are drawn by table tiles in every SRID', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(`create table dots as select st_point(n, 50, 4326) as the_geom from generate_series(1, 9) n;
    create table "a.b, c" as select st_transform('SRID=4326;LINESTRING(1 50, 9 51)'::geometry, 25832) as g;
    create table areas as select 'SRID=4326;POLYGON((1 50, 9 50, 9 52, 1 50))'::geometry as a, st_point(2, 49, 4326) as b`)
  const tiles: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('.mvt')) tiles.push(decodeURIComponent(request.url()))
    assert.doesNotMatch(request.postData() ?? '', /st_asmvt/)
  })
  await signInAt('/tables/public/dots/map')
  await eventually(async () => assert.equal((await drawnOf(page, 'points')).length, 9), 60_000)
  assert.ok(tiles.length > 0 && tiles.every((url) => url.includes('/api/v1/tiles/public.dots/')), `${tiles}`)
  await goTo(`/tables/public/${encodeURIComponent('a.b, c')}/map`)
  await eventually(async () => assert.ok((await drawnOf(page, 'shape-lines')).length > 0), 60_000)
  await goTo('/tables/public/areas/map')
  await eventually(async () => assert.ok((await drawnOf(page, 'shape-areas')).length > 0), 60_000)
  await page.getByLabel('Geometry').selectOption('b')
  await eventually(async () => assert.ok((await drawnOf(page, 'points')).length > 0), 60_000)
  await assertAccessible(page)
})

test('a key without maps sees the first rows of a table drawn by the browser, with the reason', async (t) => {
  const { page, user, signIn, goTo } = await openConsole(t, { drawsMaps: true, expected: /403/ })
  await user.sql(`create table spots as select i as n, st_setsrid(st_point(i, 50), 4326) as the_geom from generate_series(1, 12) i;
    create table many as select st_setsrid(st_point(i % 20, 50), 4326) as the_geom from generate_series(1, 30000) i; analyze many`)
  const grants = [{ type: 'apis', apis: ['sql'] }, grantsOf({ spots: ['select'], many: ['select'] })[1]]
  const { token } = await keysClient(user).make('reader', grants)
  await signIn(user, token)
  for (const [table, count] of [
    ['spots', 12],
    ['many', 20],
  ] as const) {
    await goTo(`/tables/public/${table}/map`)
    await page.getByText('This key has no access to maps, so this browser draws').waitFor()
    await eventually(async () => {
      const drawn = await drawnOf(page, 'shape-points')
      assert.ok(drawn.length >= count, `${drawn.length} shapes`)
    }, 60_000)
    assert.equal(await page.getByText('Forbidden').count(), 0)
  }
  await goTo('/maps')
  await page.getByText('This key cannot make maps.').waitFor()
  assert.equal(await page.getByText('Forbidden').count(), 0)
})
