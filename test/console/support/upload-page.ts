import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { runningCopies } from '../../support/postgres/copying.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'

/** Helpers for the upload page. */

export async function chooseFile(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: '', buffer })
}

/**
 * Drops a file of this many lines, a multiple of 1024. It is made in the browser, so nothing passes through the
 * debugger.
 */
export async function chooseGenerated(
  page: Page,
  name: string,
  { lines, bytesOfLine }: Readonly<{ lines: number; bytesOfLine: number }>,
): Promise<void> {
  await page.getByText('Drop files on any page').waitFor()
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

/** A file of 13 MB. */
export const chooseLarge = (page: Page, name: string) =>
  chooseGenerated(page, name, { lines: 2 ** 17, bytesOfLine: 100 })

/** Limits uploads to 1 MB/s, so that their progress can be seen. Returns a function that lifts the limit. */
export async function slowUploads(page: Page): Promise<() => Promise<void>> {
  const debug = await page.context().newCDPSession(page)
  await debug.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: 1_000_000,
  })
  return () => debug.detach()
}

/** Starts an upload and waits until a part of the file is sent. Its table is not visible yet. */
export async function startUpload(page: Page, user: TestUser, name: string): Promise<void> {
  await page.getByRole('button', { name: `Create table ${name}` }).click()
  await page.getByTestId('progress').filter({ hasText: someMegabytes }).waitFor()
  await eventually(async () => assert.equal(await runningCopies(user), 1))
  assert.deepEqual(await tables(user), [])
}

/** The progress text in the middle of an upload. */
export const someMegabytes = /^\d+(\.\d)? MB of \d\d MB · .*\/s · .* left$/

export async function tables(user: TestUser): Promise<string[]> {
  const { rows } = await user.sql("select tablename from pg_tables where schemaname = 'public' order by 1")
  return rows.map(({ tablename }: { tablename: string }) => tablename)
}
