import type { Locator, Page } from 'playwright-core'

/** What the tests of the SQL page do with it. */

export async function write(page: Page, text: string): Promise<void> {
  await editor(page).focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

export const editor = (page: Page): Locator => page.locator('.editor .cm-content')

export const summary = (page: Page): Locator => page.getByTestId('summary')

/** Runs what is in the editor and waits until the result is complete. */
export async function run(page: Page, text: string): Promise<void> {
  await write(page, text)
  await page.keyboard.press('Control+Enter')
  await page
    .getByRole('button', { name: 'Run', exact: false })
    .first()
    .and(page.locator(':enabled'))
    .waitFor()
}

/** The texts of the cells that are drawn, row by row, without the numbers of the rows. */
export async function cells(page: Page): Promise<string[][]> {
  const rows = page.locator('.grid-body [role="row"]')
  return rows.evaluateAll((found) =>
    found.map((row) => [...row.querySelectorAll('[role="gridcell"]')].map((cell) => cell.textContent ?? '')),
  )
}

export const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
