import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, run } from '../support/sql-page.ts'

const chart = (page: Page, name: string | RegExp) => page.getByRole('group', { name })

const choose = (page: Page, label: string, option: string) =>
  page.getByRole('combobox', { name: label }).selectOption({ label: option })

/** The values of a chart, as in the table for screen readers. */
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

test('a text column gives one bar per value, from zero, with a sum or a count over all rows', async (t) => {
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

test('several series have different patterns, and pointer and keyboard can read each value', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await run(
    page,
    "select date '2026-01-01' + i % 5 as day, 'kind ' || i % 3 as \"<b>kind</b>\", 100 + i % 5 as n from generate_series(0, 14) i",
  )
  await page.getByRole('tab', { name: 'Chart' }).click()
  await choose(page, 'Chart type', 'stacked')
  await choose(page, 'Series', '<b>kind</b>')
  const stacked = chart(page, 'Chart of sum of n by day and <b>kind</b>')
  await shows(
    page,
    [0, 1, 2, 3, 4].map(
      (day) =>
        `2026-01-0${day + 1} ${Array(3)
          .fill(100 + day)
          .join(' ')}`,
    ),
  )
  const drawn = await bars(page)
  assert.equal(drawn.length, 15)
  assert.deepEqual([...new Set(drawn.map(({ fill }) => /-\d\)$/.exec(fill)?.[0]))], ['-0)', '-1)', '-2)'])
  assert.deepEqual(await stacked.locator('svg > g:last-of-type text').allTextContents(), [
    'kind 0',
    'kind 1',
    'kind 2',
  ])
  await stacked.focus()
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  const tooltip = page.getByTestId('tooltip')
  await tooltip.getByText('2026-01-04').waitFor()
  await page.getByRole('status').getByText('2026-01-04: kind 0 103, kind 1 103, kind 2 103').waitFor()
  await page.keyboard.press('Escape')
  await tooltip.waitFor({ state: 'detached' })
  await choose(page, 'Chart type', 'line')
  await chart(page, 'Chart of sum of n by day and <b>kind</b>')
    .locator('path[stroke-dasharray]')
    .first()
    .waitFor()
  const box = (await stacked.boundingBox())!
  await page.mouse.move(box.x + box.width - 30, box.y + box.height / 2)
  await choose(page, 'Chart type', 'scatter')
  await choose(page, 'Show', 'each row')
  await chart(page, 'Chart of n by day and <b>kind</b>').waitFor()
  await assertAccessibleEverywhere(page)
})

test('the points of a cloud are never drawn beside the axes of another size', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await run(page, 'select i as x, i * i % 97 as n from generate_series(1, 500) i')
  await page.getByRole('tab', { name: 'Chart' }).click()
  await choose(page, 'Chart type', 'scatter')
  await page.locator('.chart-canvas g[fill-opacity] path').first().waitFor()
  // Width and points after each change of the picture.
  const seen = await page.locator('.chart-canvas').evaluateHandle((canvas) => {
    const drawn: { width: string; points: string }[] = []
    const look = () => {
      const paths = [...canvas.querySelectorAll('g[fill-opacity] path')]
      const width = canvas.querySelector('svg')!.getAttribute('width')!
      drawn.push({ width, points: paths.map((path) => path.getAttribute('d')).join('') })
    }
    look()
    new MutationObserver(look).observe(canvas, { subtree: true, childList: true, attributes: true })
    return drawn
  })
  const { width, height } = page.viewportSize()!
  await page.setViewportSize({ width: width - 200, height })
  const drawn = await eventually(async () => {
    const all = await seen.jsonValue()
    assert.ok(all.at(-1)!.width !== all[0]!.width && all.at(-1)!.points !== '')
    return all
  })
  for (const { width, points } of drawn.filter((one) => one.points !== ''))
    assert.ok(!drawn.some((other) => other.width !== width && other.points === points), width)
})

test('the chart settings stay with the draft and are saved with the query', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await signInAt('/sql')
  const text = "select 'v' || i % 9 as v, i as n from generate_series(1, 90) i"
  await run(page, text)
  await page.getByRole('tab', { name: 'Chart' }).click()
  await choose(page, 'Chart type', 'pie')
  await page.getByText('v has 9 values: 4 of them are drawn as “others”.').waitFor()
  await page.reload()
  await eventually(async () => assert.equal(await editor(page).innerText(), text))
  await run(page, text)
  await page.getByRole('tab', { name: 'Chart' }).click()
  await page.getByText('v has 9 values: 4 of them are drawn as “others”.').waitFor()
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog', { name: 'Save query' })
  await dialog.getByLabel('Name').fill('parts')
  assert.ok(await dialog.getByLabel('With its chart: pie, sum of n by v').isChecked())
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const answer = await fetch(`${user.base}/api/v4/queries/parts?api_key=${user.masterToken}`)
  const { chart: kept } = (await answer.json()) as { chart: unknown }
  assert.deepEqual(kept, { kind: 'pie', x: 'v', y: ['n'], aggregate: 'sum' })

  await fetch(`${user.base}/api/v4/queries/parts?api_key=${user.masterToken}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: text, chart: { kind: 'histogram', x: 'n' } }),
  })
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Open or insert query…' }).click()
  const open = page.getByRole('dialog', { name: 'Open query' })
  await open.getByRole('button', { name: /^parts/ }).click()
  await open.waitFor({ state: 'detached' })
  await run(page, text)
  await page.getByRole('tab', { name: 'Chart' }).click()
  await chart(page, 'Chart of distribution of n').waitFor()
})

test('a chart is saved as PNG and as self-contained SVG, with the texts of the data escaped', async (t) => {
  const { page, signInAt } = await openConsole(t, { context: { colorScheme: 'dark' } })
  await signInAt('/sql')
  await run(
    page,
    `select * from (values ('<script>alert(1)</script>', 3), (repeat('long ', 40), -2), ('emoji 😀 ' || chr(1), 1), (null, 2), ('', 4)) v (name, n)`,
  )
  await page.getByRole('tab', { name: 'Chart' }).click()
  await chart(page, 'Chart of sum of n by name').waitFor()
  const save = async (kind: string) => {
    await page.getByRole('button', { name: 'Save chart' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: kind }).click(),
    ])
    assert.equal(download.suggestedFilename(), `sum-of-n-by-name.${kind.toLowerCase()}`)
    return readFile(await download.path())
  }
  const svg = (await save('SVG')).toString()
  assert.match(svg, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/)
  assert.match(svg, /emoji 😀 \ufffd/)
  assert.match(svg, /<rect width="960" height="\d+" fill="#ffffff"/)
  assert.doesNotMatch(svg, /<script|<style|<foreignObject|class=|\sstyle=|var\(|light-dark|href|url\((?!#)/)
  assert.match(svg, /fill="rgb\(11, 110, 110\)"/, 'light colours on white, whatever the theme')
  const width = await page.evaluate(async (text) => {
    const image = new Image()
    image.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }))
    await image.decode()
    return image.naturalWidth
  }, svg)
  assert.equal(width, 960, 'an image has no styles and no script of the page, and must be well-formed')
  const png = await save('PNG')
  assert.equal(png.subarray(1, 4).toString(), 'PNG')
  assert.equal(png.readUInt32BE(16), 1920)
})
