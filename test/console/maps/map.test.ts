import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible } from '../support/axe.ts'
import { colourAt, drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

const hostile = '<img src=x onerror=alert(1)>🙂'

test('a map shows the points of a result without the internet; selecting a point selects its row; the legend is text', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await signIn()
  await run(
    page,
    `select i, case when i % 2 = 0 then 'even' else '${hostile}' end as "${hostile}", st_setsrid(st_point(i * 10, i * 5), 4326) as the_geom
     from generate_series(-5, 5) i`,
  )
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('11 shapes').waitFor()
  await eventually(async () => {
    const drawn = (await drawnOf(page, 'shape-points')).map(({ id }) => id)
    assert.deepEqual(drawn.sort(byNumber), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  }, 30_000)
  const { length: land } = await drawnOf(page, 'basemap:land')
  assert.ok(land > 10, `${land} countries are drawn`)
  assert.deepEqual(
    await colourAt(page, 20, 10),
    await colourAt(page, -20, -10),
    'points have the colour of points',
  )
  assert.notDeepEqual(await colourAt(page, 20, 10), await colourAt(page, 15, -15))

  const { x, y } = await onMap(page, (map) => map.project([20, 10]))
  await page.locator('.map').click({ position: { x, y } })
  await page.getByRole('tab', { name: 'Grid' }).click()
  await page.getByRole('gridcell', { selected: true, name: '2' }).waitFor()
  await page.keyboard.press('Alt+2')
  await page.getByLabel('Colour by').selectOption(hostile)
  await page.getByRole('list', { name: 'Legend' }).getByText(hostile).waitFor()
  assert.equal(await page.locator('img').count(), 0)
  await eventually(async () => assert.notDeepEqual(await colourAt(page, 10, 5), await colourAt(page, 0, 0)))
  await assertAccessible(page)
})

test('beyond 200,000 shapes a query is drawn by tiles that count all rows, and a click lists those of a place', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await signIn()
  await run(
    page,
    "select i, 'row ' || i as name, st_setsrid(st_point(i % 360 - 179.5, i % 160 - 79.5), 4326) as g from generate_series(1, 201234) i; -- all",
  )
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('all rows of the query').waitFor()
  await onMap(page, (map) => map.jumpTo({ center: [0, 0], zoom: 0 }))
  await eventually(async () => {
    const [first] = await drawnOf(page, 'cells')
    assert.ok(Number(first?.properties.n) > 100)
  }, 60_000)
  await page.getByText('a dot stands for all rows around it').waitFor()
  await onMap(page, (map) => map.jumpTo({ center: [-178.5, -78.5], zoom: 9 }))
  await eventually(async () => assert.ok((await drawnOf(page, 'cells')).length > 0), 60_000)
  const { x, y } = await onMap(page, (map) => map.project([-178.5, -78.5]))
  await page.locator('.map').click({ position: { x, y } })
  const here = page.getByRole('complementary', { name: 'Rows at this place' })
  await here.getByText('row 1', { exact: true }).waitFor()
  await page.getByLabel('Colour by').selectOption('name')
  await page.getByRole('list', { name: 'Legend' }).getByText('row 1', { exact: true }).waitFor()
})

test('beyond 200,000 shapes of anything but a query the map says how many rows are not drawn', async (t) => {
  const { page, signIn, user } = await openConsole(t, { drawsMaps: true })
  // Tests only the text: drawing them takes seconds.
  await page.route('**/maplibre-gl-worker*', () => undefined)
  await user.sql('create table made (g geometry)')
  await signIn()
  await run(
    page,
    'insert into made select st_setsrid(st_point(i % 360 - 180, i % 180 - 90), 4326) from generate_series(1, 201234) i returning g',
  )
  await page.getByRole('tab', { name: 'Map' }).click()
  await page
    .getByText('200,000 shapes · 1,234 rows not drawn: the limit is 200,000 shapes', { exact: true })
    .waitFor()
})

test('a geometry opens as WKT and on a small map, which follows the system theme', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await page.emulateMedia({ colorScheme: 'light' })
  await signIn()
  await run(
    page,
    "select st_setsrid(st_point(20, 10), 4326) as flat, 'SRID=4326;POINT Z (1 2 3)'::geometry as deep",
  )
  await page.getByRole('gridcell').first().dblclick()
  await page.getByRole('complementary').getByText('POINT(20 10)', { exact: true }).waitFor()
  await eventually(async () => {
    assert.equal((await drawnOf(page, 'shape-points')).length, 1)
  }, 60_000)
  const light = await colourAt(page, 20.01, 10.01)
  await page.emulateMedia({ colorScheme: 'dark' })
  await eventually(async () => assert.notDeepEqual(await colourAt(page, 20.01, 10.01), light), 60_000)
  // On a narrow screen the cell covers the grid.
  await page.getByRole('button', { name: 'Close the cell' }).click()
  await page.getByRole('gridcell').nth(1).dblclick()
  await page.getByText('POINT(1 2)', { exact: true }).waitFor()
  await page.getByText('Z and M are not shown').waitFor()
})

test('a geometry with another SRID is not drawn in a wrong place: the map says what to do', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, 'select st_setsrid(st_point(500000, 5700000), 25832) as the_geom')
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('Use ST_Transform(…, 4326) in the statement').waitFor()
})

test('in a browser that cannot draw maps the console says so, and the rest works', async (t) => {
  const { page, signIn, goTo, user } = await openConsole(t)
  await user.sql('create table places as select st_setsrid(st_point(20, 10), 4326) as the_geom')
  await page.addInitScript(() => {
    const { getContext } = HTMLCanvasElement.prototype
    HTMLCanvasElement.prototype.getContext = function get(this: HTMLCanvasElement, ...about: unknown[]) {
      return about[0] === 'webgl2' ? null : Reflect.apply(getContext, this, about)
    } as typeof getContext
  })
  await signIn()
  await run(page, 'select the_geom from places')
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('This browser cannot draw maps').waitFor()
  await page.getByRole('tab', { name: 'Grid' }).click()
  await page.getByRole('gridcell').first().dblclick()
  await page.getByRole('complementary').getByText('POINT(20 10)', { exact: true }).waitFor()
  await goTo('/tables/public/places/map')
  await page.getByText('This browser cannot draw maps').waitFor()
  await page.getByRole('heading', { name: 'places' }).waitFor()
})

const byNumber = (one: unknown, other: unknown) => Number(one) - Number(other)
