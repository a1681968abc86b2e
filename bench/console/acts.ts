import type { Page } from 'playwright-core'
import { chartKinds } from '../../src/contract/charts.ts'
import { write } from './console-page.ts'

/** What one does with a result of many rows. Each resolves when what was asked for is on the screen. */

/** `keys`: how the text is run. */
export async function runToEnd(page: Page, text: string, keys = 'Control+Enter'): Promise<void> {
  const tabs = page.locator('.run-tabs .run-name')
  const [former] = (await tabs.allTextContents()).slice(-1)
  await write(page, text)
  await page.keyboard.press(keys)
  const last = tabs.last()
  await (former === undefined ? last : last.filter({ hasNotText: former })).waitFor()
  await last.filter({ hasNotText: '⋯' }).waitFor()
  await page.getByRole('button', { name: '◼ Stop', disabled: true }).waitFor()
  const name = (await last.textContent()) ?? ''
  if (/[✕◼]/.test(name)) throw new Error(`the statement did not end well: ${name}`)
}

export const showView = (page: Page, name: string) => page.getByRole('tab', { name, exact: true }).click()

/** Draws all kinds of charts of the shown result, and follows the pointer over the last one, a cloud. */
export async function drawCharts(page: Page): Promise<void> {
  await showView(page, 'Chart')
  const canvas = page.locator('.chart-canvas')
  const kinds = [...chartKinds.filter((kind) => kind !== 'scatter'), 'scatter']
  for (const kind of kinds) {
    await page.getByLabel('Chart type').selectOption({ label: kind })
    await canvas.filter({ hasText: `${kind} chart.` }).waitFor()
  }
  const { x, y, width, height } = (await canvas.boundingBox())!
  for (let step = 1; step < 10; step++)
    await page.mouse.move(x + (width * step) / 10, y + (height * step) / 10)
}

export async function showChanges(page: Page): Promise<void> {
  await showView(page, 'Changes')
  await page.getByRole('table', { name: 'Changes' }).waitFor()
  await page.getByRole('button', { name: /^Show .* more$/ }).click()
  await page.locator('.changes-list tbody tr:nth-child(201)').waitFor()
}

/** From the first row to the last, and to the large values. */
export async function readCells(page: Page, rows: number): Promise<void> {
  const panel = (column: string, row: number) =>
    page.getByRole('complementary', { name: `${column}, row ${row}`, exact: true })
  await page.locator('.grid-body [role="gridcell"]').first().click()
  await page.keyboard.press('Enter')
  await panel('i', 1).waitFor()
  await page.keyboard.press('Control+End')
  await panel('shape', rows).waitFor()
  await page.keyboard.press('Control+Home')
  await panel('i', 1).waitFor()
  await page.keyboard.press('ArrowRight')
  await panel('long_text', 1).locator('.text-part').waitFor()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await panel('large_json', 2).locator('.tree').waitFor()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await panel('shape', 3).getByText('LINESTRING').first().waitFor()
}

/** Between the first two results, and between the views of each. */
export async function switchTabs(page: Page): Promise<void> {
  for (const at of [0, 1, 0, 1]) {
    await page.locator('.run-tabs .run-name').nth(at).click()
    await page.locator('.grid-body [role="gridcell"]').first().waitFor()
    await showView(page, 'Chart')
    await page.locator('.chart-canvas').waitFor()
    await showView(page, 'Statistics')
    await page.getByRole('row', { name: /^i / }).waitFor()
    await showView(page, 'Messages')
    await page.getByText('No messages from PostgreSQL.').waitFor()
    await showView(page, 'Grid')
    await page.locator('.grid-body [role="gridcell"]').first().waitFor()
  }
}
