import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { classify } from '../../../console/geo/classes.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { colourAt, drawnOf, onMap } from '../support/map-page.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

const here = (page: Page) => page.getByRole('complementary', { name: 'Rows at this place' })
const legend = (page: Page) => page.getByRole('list', { name: 'Legend' })
/** A shape on the edge of a tile is in two tiles. */
const areDrawn = (page: Page, layer: string, count: number) =>
  eventually(async () => {
    const drawn = await drawnOf(page, layer)
    assert.equal(layer === 'points' ? drawn.length : new Set(drawn.map(({ id }) => id)).size, count)
  }, 60_000)

test('a click on a shape of a result, or Enter on the map, shows the values of its rows', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await signIn()
  await run(
    page,
    `select 'square ' || i as name, nullif(i, 2) as n, st_makeenvelope(i * 20 - 5, -5, i * 20 + 5, 5, 4326) as the_geom
     from generate_series(-2, 2) i`,
  )
  const world = await holdBack(page, '**/assets/world-*')
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText('Loading the map…').waitFor()
  world.release()
  await areDrawn(page, 'shape-areas', 5)
  await legend(page).getByText('each shape is one row').waitFor()
  await legend(page).getByText('the selected row').waitFor()
  await page.getByText('Loading the map…').waitFor({ state: 'detached' })

  const { x, y } = await onMap(page, (map) => map.project([40, 0]))
  await page.locator('.map').click({ position: { x, y } })
  await here(page).getByText('square 2').waitFor()
  await here(page).getByText('NULL').waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Close the rows' }).click()

  await page.getByRole('region', { name: /^Map\. Arrow keys move it.*Enter lists the rows/ }).focus()
  await page.keyboard.press('Enter')
  await here(page).getByText('square 0').waitFor()
  assert.equal(
    await page.getByRole('group', { name: 'Values' }).evaluate((it) => it === document.activeElement),
    true,
  )
  await page.keyboard.press('Escape')
  await here(page).waitFor({ state: 'detached' })
  assert.equal(
    await page.evaluate(() => document.activeElement?.classList.contains('maplibregl-canvas')),
    true,
  )
})

test('a row without a value is not drawn as a small number, and the legend says so', async (t) => {
  const { page, signIn } = await openConsole(t, { drawsMaps: true })
  await signIn()
  await run(
    page,
    `select nullif(i, 5) * 1500.5 as amount, st_makeenvelope(i * 20 - 5, -5, i * 20 + 5, 5, 4326) as the_geom
     from generate_series(0, 5) i`,
  )
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByLabel('Colour by').selectOption('amount')
  await areDrawn(page, 'shape-areas', 6)
  const labels = await legend(page).getByRole('listitem').allInnerTexts()
  assert.deepEqual(
    labels.map((label) => label.trim()),
    [
      'below 1,501',
      '1,501 to 3,001',
      '3,001 to 4,502',
      '4,502 to 6,002',
      '6,002 or more',
      'NULL',
      'the selected row',
    ],
  )
  await eventually(async () => assert.notDeepEqual(await colourAt(page, 0, 0), await colourAt(page, 100, 0)))
})

test('the map of a table says that it loads and what a dot is, and the keyboard reaches its values', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(`create table harbours as select 'Nordhafen' as name, st_setsrid(st_point(9, 50), 4326) as the_geom
    union all select 'Südhafen', st_setsrid(st_point(11, 50), 4326); analyze harbours`)
  const tiles = await holdBack(page, '**/api/v2/sql', 'st_asmvt')
  await signInAt('/tables/public/harbours/map')
  await page.locator('.map').waitFor()
  await page.getByText('Loading the map…').waitFor()
  tiles.release()
  await areDrawn(page, 'points', 2)
  await page.getByText('Loading the map…').waitFor({ state: 'detached' })
  await legend(page).getByText('each dot is one row').waitFor()
  await assertAccessibleEverywhere(page)

  await onMap(page, (map) => map.jumpTo({ center: [9, 50], zoom: 8 }))
  await page.getByRole('region', { name: /^Map\. Arrow keys/ }).focus()
  await page.keyboard.press('Enter')
  await here(page).getByText('Nordhafen').waitFor()
  assert.equal(await here(page).getByText('Südhafen').count(), 0)
})

/** Holds back requests whose body has this text until they are released. */
async function holdBack(page: Page, url: string, text = '') {
  let release: () => void = () => undefined
  const late = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(url, async (route) => {
    if ((route.request().postData() ?? '').includes(text)) await late
    await route.continue()
  })
  return { release }
}

test('all numbers of a legend have one format', () => {
  const labelsOf = (...values: number[]) => classify(values.map(String), true).labels
  assert.deepEqual(labelsOf(1, 20, 300, 4000, 50000), [
    'below 20',
    '20 to 300',
    '300 to 4,000',
    '4,000 to 50,000',
    '50,000 or more',
  ])
  assert.equal(labelsOf(1990, 2000, 2010, 2020, 2024).at(-1), '2024 or more')
  assert.deepEqual(labelsOf(0.1, 0.25, 0.5, 7, 1234.5), [
    'below 0.25',
    '0.25 to 0.50',
    '0.50 to 7.00',
    '7.00 to 1,234.50',
    '1,234.50 or more',
  ])
})
