import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard, run } from '../support/sql-page.ts'

const point = 'ST_SetSRID(ST_MakePoint(2.35, 48.86), 4326)'

async function openMoments(t: TestContext): Promise<Readonly<{ page: Page }>> {
  const { page, signIn, user } = await openConsole(t, { context: { timezoneId: 'Europe/Berlin' } })
  await user.sql(
    `create table moments as
     select date '2026-01-31' as d, timestamp '2026-01-31 10:00:00.123456' as t, timestamptz '2026-01-31 10:00Z' as z,
       'infinity'::date as i, ${point} as the_geom, ST_Transform(${point}, 3857) as the_geom_webmercator,
       ST_Buffer(${point}, 1) as area, E'one\\ntwo' as lines`,
  )
  await signIn()
  await run(page, 'select * from moments')
  return { page }
}

test('days, times with and without a zone, geometries and several lines are readable in the grid', async (t) => {
  const { page } = await openMoments(t)
  await eventually(async () =>
    assert.deepEqual(await cells(page), [
      [
        '2026-01-31',
        '2026-01-31 10:00:00.123456',
        '2026-01-31 10:00:00 UTC',
        'infinity',
        'POINT(2.35 48.86)',
        'Polygon, 33 points',
        'one ⏎ two',
      ],
    ]),
  )
  const headers = page.getByRole('columnheader')
  assert.deepEqual(await headers.allTextContents(), ['#', 'd', 't', 'z', 'i', 'the_geom', 'area', 'lines'])
  await page
    .getByRole('columnheader', { name: 'z' })
    .and(page.getByTitle('z: timestamp with time zone'))
    .waitFor()
  await assertAccessibleEverywhere(page)
})

test('copying and the cell panel give full values, and a hidden column can be shown', async (t) => {
  const { page } = await openMoments(t)
  // Wide enough for all columns: those outside the window are not drawn.
  await page.setViewportSize({ width: 1_800, height: 800 })
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+c')
  await eventually(async () => {
    const copied = (await clipboard(page)).split('\t')
    assert.equal(copied.length, 7)
    assert.deepEqual(copied.slice(0, 3), [
      '2026-01-31',
      '2026-01-31 10:00:00.123456',
      '2026-01-31 10:00:00 UTC',
    ])
    assert.match(copied[4]!, /^0101000020E6100000[0-9A-F]{32}$/)
  })
  await page.keyboard.press('Home')
  for (let step = 0; step < 2; step++) await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  const panel = page.getByRole('complementary')
  await panel.getByText('2026-01-31 11:00:00 in Europe/Berlin, the time zone of this computer').waitFor()
  for (let step = 0; step < 2; step++) await page.keyboard.press('ArrowRight')
  await panel.getByText('POINT(2.35 48.86)').waitFor()
  await panel.getByText('EWKB (hex)').click()
  await panel.getByText('0101000020E6100000').waitFor()
  await page.getByRole('button', { name: 'Close the cell' }).click()

  await page.getByRole('button', { name: 'Columns (1 hidden) ▾' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'the_geom_webmercator' }).click()
  await page.getByRole('columnheader', { name: 'the_geom_webmercator' }).waitFor()
  await eventually(async () => assert.match((await cells(page))[0]![5]!, /^SRID=3857;POINT\(261600\.8/))
  await page.getByRole('button', { name: 'Columns ▾' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'area' }).click()
  await eventually(async () => assert.equal((await cells(page))[0]!.length, 7))
  await page.getByLabel('Find in all rows').fill('31 10:00:00 UTC')
  await page.keyboard.press('Enter')
  await page.getByRole('gridcell', { name: '2026-01-31 10:00:00 UTC', selected: true }).waitFor()
})

test('every kind of geometry has a short text', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  const shown: Readonly<Record<string, string>> = {
    'POINT Z(1 2 3.5)': 'POINT Z(1 2 3.5)',
    'POINT ZM(1 2 3 4)': 'POINT ZM(1 2 3 4)',
    'POINT EMPTY': 'POINT EMPTY',
    'LINESTRING M(1 2 3,4 5 6)': 'LineString M, 2 points',
    'POLYGON((0 0,9 0,9 9,0 0),(1 1,2 1,2 2,1 1))': 'Polygon, 8 points',
    'POLYGON EMPTY': 'Polygon, empty',
    'MULTIPOINT((1 1),(2 2))': 'MultiPoint, 2 points',
    'MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))': 'MultiPolygon, 2 parts, 8 points',
    'GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))': 'GeometryCollection, 2 parts, 3 points',
    'CIRCULARSTRING(0 0,1 1,2 0)': 'CircularString',
    'TIN(((0 0 0,0 1 0,1 0 0,0 0 0)))': 'Tin Z',
  }
  await run(page, `select v::geometry as g from unnest(array['${Object.keys(shown).join("','")}']) v`)
  await eventually(async () =>
    assert.deepEqual(
      (await cells(page)).map(([text]) => text),
      Object.values(shown),
    ),
  )
  await run(page, `select ST_Transform(${point}, 3857) as the_geom_webmercator`)
  await page.getByRole('columnheader', { name: 'the_geom_webmercator' }).waitFor()
})
