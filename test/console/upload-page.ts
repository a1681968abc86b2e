import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { TestUser } from '../support/setup.ts'

/** What the tests of the upload do with its page. */

export async function chooseFile(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: '', buffer })
}

/** A file of so many lines, by the thousand, made in the browser: nothing of it passes the debugger. */
export async function chooseGenerated(
  page: Page,
  name: string,
  { lines, bytesOfLine }: Readonly<{ lines: number; bytesOfLine: number }>,
): Promise<void> {
  await page.getByText('Drop a file on any page').waitFor()
  await page.evaluate(
    ([fileName, parts, size]) => {
      const line = `1,${'x'.repeat(size - 3)}\n`
      const part = new Blob([line.repeat(2 ** 10)])
      const file = new File(['n,t\n', ...Array.from({ length: parts }, () => part)], fileName)
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(file)
      document.querySelector('main')!.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }))
    },
    [name, lines / 2 ** 10, bytesOfLine] as const,
  )
}

/** Begins to send a file of 420 MB, and answers when some of it has left and its table is there. */
export async function startLargeUpload(page: Page, user: TestUser, name: string): Promise<void> {
  await chooseGenerated(page, `${name}.csv`, 400)
  await page.getByRole('button', { name: `Make ${name}` }).click()
  await page
    .getByTestId('progress')
    .filter({ hasText: /^[1-9]\d* MB of 419 MB/ })
    .waitFor()
  assert.deepEqual(await tables(user), [name])
}

export async function tables(user: TestUser): Promise<string[]> {
  const { rows } = await user.sql("select tablename from pg_tables where schemaname = 'public' order by 1")
  return rows.map(({ tablename }: { tablename: string }) => tablename)
}
