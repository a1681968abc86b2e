import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, run, write } from '../support/sql-page.ts'

test('tables created by a job or in another tab appear in completion and in the palette', async (t) => {
  const { page, context, url, user, signInAt } = await openConsole(t, { setup: { worker: true } })
  await user.sql('create table known_before (n int)')
  await signInAt('/sql')
  await assertCompleted(page, 'known_before')

  const other = await context.newPage()
  await other.goto(`${url}/console/sql`)
  await editor(other).waitFor()
  await run(other, 'create table made_in_a_tab (n int)')
  await assertCompleted(page, 'made_in_a_tab')
  await other.close()

  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('link', { name: 'New job' }).click()
  await page
    .getByRole('textbox', { name: 'Statement 1', exact: true })
    .fill('create table made_by_a_job (n int)')
  await page.getByRole('button', { name: 'Start job' }).click()
  await page.locator('h1 + .badge', { hasText: 'done' }).waitFor()
  await page.getByRole('link', { name: 'SQL' }).click()
  await assertCompleted(page, 'made_by_a_job')

  // Created by another program: the palette reads the database each time it opens.
  const { sql } = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  await sql('create table made_by_a_program (n int)')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('made_')
  for (const name of ['made_in_a_tab', 'made_by_a_job', 'made_by_a_program'])
    await page.getByRole('option', { name: `public.${name}, table` }).waitFor({ timeout: 20_000 })
})

test('an estimated number of rows is shown as an estimate', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql('create table places as select 1 as n from generate_series(1, 1234); analyze places')
  await signInAt('/tables')
  await page.getByRole('cell', { name: 'about 1,234', exact: true }).waitFor()
  await goTo('/tables/public/places/columns')
  await page.getByText(/about 1,234 rows/).waitFor()
  await goTo('/account')
  await page.getByRole('cell', { name: 'about 1,234', exact: true }).waitFor()
})

/** Types the beginning of a table's name and waits until the editor offers the rest. */
async function assertCompleted(page: Page, table: string): Promise<void> {
  await eventually(async () => {
    await write(page, 'select * from ')
    await page.keyboard.type(table.slice(0, -2))
    const offered = page.locator('.cm-tooltip-autocomplete li', { hasText: table })
    await offered.waitFor({ timeout: 3_000 })
    await page.keyboard.press('Escape')
  }, 20_000)
}
