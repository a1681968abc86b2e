import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

type Bar = Readonly<{ label: string; value: string; left: number; width: number; colour: string }>

const bars = (page: Page): Promise<Bar[]> =>
  page.locator('.category-bars tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      const bar = row.querySelector('.category-bar')!
      const { left, width } = bar.getBoundingClientRect()
      const [label, value] = [...row.children].map(({ textContent }) => textContent ?? '')
      return { label: label!, value: value!, left, width, colour: getComputedStyle(bar).backgroundColor }
    }),
  )

const texts = async (page: Page) => (await bars(page)).map(({ label, value }) => `${label} ${value}`)

test('a text column makes a bar for each of its values, from zero, with a sum or a count over all rows', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(
    page,
    `select case when i % 4 = 0 then null when i % 4 = 1 then 'Oslo' else 'Rome' end as city, i % 4 as n from generate_series(1, 300000) i`,
  )
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByRole('group', { name: 'Chart of sum of n by city' }).waitFor()
  await eventually(async () => assert.deepEqual(await texts(page), ['Rome 375,000', 'Oslo 75,000', 'NULL 0']))
  const [rome, oslo] = (await bars(page)) as [Bar, Bar]
  assert.ok(Math.abs(rome.left - oslo.left) < 1, 'all bars begin at zero')
  assert.ok(Math.abs(rome.width / oslo.width - 5) < 0.05, `${rome.width} and ${oslo.width} px`)
  assert.doesNotMatch(rome.colour, /, 0\)$/)
  await assertAccessibleEverywhere(page)
  await page.getByLabel('Show').selectOption('average')
  await eventually(async () => assert.deepEqual(await texts(page), ['Rome 2.5', 'Oslo 1', 'NULL 0']))
  await page.getByLabel('Show').selectOption('count')
  await page.getByLabel('Order').selectOption('by name')
  await eventually(async () =>
    assert.deepEqual(await texts(page), ['Oslo 75,000', 'Rome 150,000', 'NULL 75,000']),
  )

  await run(page, "select 'v' || i % 300 as v from generate_series(1, 900) i")
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByRole('group', { name: 'Chart of count by v' }).waitFor()
  await page.getByText('100 more values of v are not shown').waitFor()

  await run(page, "select * from (values ('loss', -5), ('gain', 5)) v (kind, n)")
  await page.getByRole('tab', { name: 'Chart' }).click()
  await eventually(async () => assert.deepEqual(await texts(page), ['gain 5', 'loss -5']))
  const [gain, loss] = (await bars(page)) as [Bar, Bar]
  assert.ok(
    Math.abs(loss.left + loss.width - gain.left) < 1,
    'a negative bar ends where a positive one begins',
  )
})

/** The widths of the coloured runs in a line of pixels near the foot of the bars. */
const barWidths = (page: Page): Promise<number[]> =>
  page.locator('.chart canvas').evaluate((canvas: HTMLCanvasElement) => {
    const drawing = canvas.getContext('2d')!
    const { clientWidth, clientHeight } = canvas
    const foot = document.querySelector('.u-over')!.getBoundingClientRect().bottom
    const y = Math.round((foot - canvas.getBoundingClientRect().top - 12) * (canvas.height / clientHeight))
    const { data } = drawing.getImageData(0, y, canvas.width, 1)
    const widths: number[] = []
    let run = 0
    for (let x = 0; x <= canvas.width; x++) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(x * 4, x * 4 + 4)
      const isBar = alpha > 250 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60
      if (isBar) run++
      else if (run > 0) {
        widths.push((run * clientWidth) / canvas.width)
        run = 0
      }
    }
    return widths
  })

test('bars over days are filled from zero, and the first and the last one are whole', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, "select date '2026-01-01' + i % 5 as day, 100 + i % 5 as n from generate_series(0, 9) i")
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByRole('combobox', { name: 'Chart type' }).selectOption('bars')
  await page.getByLabel('Show').selectOption('sum')
  await page.getByRole('img', { name: 'Chart of sum of n by day' }).waitFor()
  await eventually(async () => {
    const widths = await barWidths(page)
    assert.equal(widths.length, 5, String(widths))
    assert.ok(Math.max(...widths) - Math.min(...widths) <= 2 && Math.min(...widths) > 20, String(widths))
  })
})
