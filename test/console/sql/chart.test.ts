import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

const chart = (page: Page, name: string | RegExp) => page.getByRole('group', { name })

const choose = (page: Page, label: string, option: string) =>
  page.getByRole('combobox', { name: label }).selectOption({ label: option })

/** The values of a chart, as the table for screen readers has them. */
const values = (page: Page): Promise<string[]> =>
  page
    .locator('.chart-figure tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent).join(' ')))

const shows = (page: Page, wanted: readonly string[]) =>
  eventually(async () => assert.deepEqual(await values(page), wanted))

/** The drawn bars, from the top. */
const bars = (page: Page): Promise<{ left: number; right: number; fill: string }[]> =>
  page.locator('.chart-canvas svg > rect').evaluateAll((found) =>
    found.map((bar) => {
      const { left, right } = bar.getBoundingClientRect()
      return { left, right, fill: bar.getAttribute('fill') ?? '' }
    }),
  )

test('a text column makes a bar for each of its values, from zero, with a sum or a count over all rows', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(
    page,
    `select case when i % 4 = 0 then null when i % 4 = 1 then 'Oslo <b>' else 'Rome' end as city, i % 4 as n from generate_series(1, 300000) i`,
  )
  await page.getByRole('tab', { name: 'Chart' }).click()
  await chart(page, 'Chart of sum of n by city').waitFor()
  await shows(page, ['Rome 375,000', 'Oslo <b> 75,000', 'NULL 0'])
  const [rome, oslo] = await bars(page)
  assert.ok(Math.abs(rome!.left - oslo!.left) < 1, 'all bars begin at zero')
  const ratio = (rome!.right - rome!.left) / (oslo!.right - oslo!.left)
  assert.ok(Math.abs(ratio - 5) < 0.05, String(ratio))
  await assertAccessibleEverywhere(page)
  await choose(page, 'Show', 'average')
  await shows(page, ['Rome 2.5', 'Oslo <b> 1', 'NULL 0'])
  await choose(page, 'Show', 'count')
  await choose(page, 'Order', 'by name')
  await shows(page, ['Oslo <b> 75,000', 'Rome 150,000', 'NULL 75,000'])

  await run(page, "select * from (values ('loss', -5), ('gain', 5)) v (kind, n)")
  await page.getByRole('tab', { name: 'Chart' }).click()
  await shows(page, ['gain 5', 'loss -5'])
  const [gain, loss] = await bars(page)
  assert.ok(Math.abs(loss!.right - gain!.left) < 1, 'a negative bar ends where a positive one begins')
})
