import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'

/** Helpers for the SQL page. */

export async function write(page: Page, text: string): Promise<void> {
  await editor(page).focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

export const editor = (page: Page): Locator => page.locator('.editor .cm-content')

export const summary = (page: Page): Locator => page.getByTestId('summary')

/** Runs a text and waits for its complete result or its error. */
export async function run(page: Page, text: string, withinMs = 30_000): Promise<void> {
  const shown = page.locator('.run-tabs [aria-current] .run-name')
  const former = await shown.allTextContents()
  await write(page, text)
  await page.keyboard.press('Control+Enter')
  await eventually(async () => {
    const [now] = await shown.allTextContents()
    assert.ok(now && now !== former[0] && !now.startsWith('⋯'), now)
    assert.ok(await page.getByRole('button', { name: '◼ Stop' }).isDisabled())
  }, withinMs)
}

/** The tabs of the results: `2 · select 1`. */
export const resultTabs = (page: Page): Locator => page.locator('.run-tabs .run-name')

/** The texts of the drawn cells, row by row, without row numbers. */
export async function cells(page: Page): Promise<string[][]> {
  const rows = page.locator('.grid-body [role="row"]')
  return rows.evaluateAll((found) =>
    found.map((row) => [...row.querySelectorAll('[role="gridcell"]')].map((cell) => cell.textContent ?? '')),
  )
}

export const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
