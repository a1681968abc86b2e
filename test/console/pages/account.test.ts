import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { usageCounts } from '../../../src/usage/usage-counts.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

test('the account shows its quota, its largest tables, those without autovacuum and the last known rate limit', async (t) => {
  const { page, createUser, signInAt } = await openConsole(t, {
    setup: { config: { rateLimitSql: { count: 500, seconds: 60, burst: 500 } } },
  })
  const user = await createUser({ quotaBytes: 50_000_000 })
  await user.sql(
    'create table small (n int); create table large as select n from generate_series(1, 20000) n; alter table small set (autovacuum_enabled = off)',
  )
  await signInAt('/account', user)
  await page.getByText(/of 50 MB in 2 tables/).waitFor()
  await page.getByRole('meter', { name: 'Quota used' }).waitFor()
  const names = page.getByRole('region', { name: 'Size' }).locator('table.list tbody td:first-child')
  await eventually(async () => assert.deepEqual(await names.allInnerTexts(), ['large', 'small']))
  await page.getByText(/^Autovacuum is off for small\./).waitFor()
  await page.getByText(/4\d\d of 500 requests left \(just now\)/).waitFor()
  await assertAccessibleEverywhere(page)
})

test('the account shows its use by day and saves it as CSV', async (t) => {
  const { page, user, signInAt, service } = await openConsole(t)
  await signInAt('/account')
  // Counts are written each minute too, so this may already be one day.
  await page
    .getByText('Nothing was used in the last 30 days.')
    .or(page.getByRole('region', { name: 'Usage by day' }))
    .first()
    .waitFor()
  await usageCounts(service.services.databases).flush()
  await page.reload()
  const day = page.getByRole('region', { name: 'Usage by day' }).getByRole('row').nth(1)
  await day.getByText(new Date().toISOString().slice(0, 10)).waitFor()
  await assertAccessibleEverywhere(page)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  assert.equal(download.suggestedFilename(), `usage-${user.username}.csv`)
  assert.match(await readFile(await download.path(), 'utf8'), /^from,jobs,tiles,/)
})

test('what this browser stores is exported, deleted and imported again, without any token', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  await signInAt('/jobs/new')
  await page.getByLabel('Statement 1', { exact: true }).fill('select 42')
  await page.getByRole('button', { name: 'Start job' }).click()
  await page.getByText('Waiting: jobs of one user').waitFor()
  const jobId = new URL(page.url()).pathname.split('/').at(-1)!
  await goTo('/account')
  await page.getByText(/^jobs: 1 entry/).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const text = await readFile(await download.path(), 'utf8')
  assert.ok(text.includes(jobId) && !text.includes(user.masterToken))
  await page.getByRole('button', { name: 'Delete jobs' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/^jobs:/).waitFor({ state: 'detached' })

  const field = page.getByLabel('Browser data file')
  const file = (content: string) => ({
    name: 'kept.json',
    mimeType: 'application/json',
    buffer: Buffer.from(content),
  })
  await field.setInputFiles(file('[]'))
  await page.getByText('kept.json is not a browser data file').waitFor()
  await field.setInputFiles(file(text))
  await page.getByText(/^jobs: 1 entry/).waitFor()
})
