import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/open-console.ts'
import { chooseGenerated } from '../support/upload-page.ts'

/** The first two requests with bytes get no answer. */
async function cutTwice(page: Page): Promise<() => number> {
  let cuts = 0
  await page.route('**/api/v4/uploads/*', (route) => {
    if (route.request().method() !== 'PATCH' || cuts === 2) return route.continue()
    cuts += 1
    return route.abort('connectionreset')
  })
  return () => cuts
}

test('an upload of more than 64 MB continues after interruptions, and the page shows what is left', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await signInAt('/upload')
  const cuts = await cutTwice(page)
  await chooseGenerated(page, 'large.csv', { lines: 1024 * 8, bytesOfLine: 8_400 })
  await page.getByRole('button', { name: 'Create table large' }).click()
  await page.getByText(/The connection was cut\. [\d.]+ MB of [\d.]+ MB are left, going on/).waitFor()
  await page.getByText(/8,192 rows stored/).waitFor()
  assert.equal(cuts(), 2)
  const { rows } = await user.sql('select count(*)::int as n from large')
  assert.deepEqual(rows, [{ n: 8_192 }])
})
