import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

test('a schedule is created, run now, paused and resumed, and its runs are a row of dots', async (t) => {
  const { page, user, signInAt, goTo } = await openConsole(t, {
    setup: { worker: true, config: { webhooks: ['hooks.example.org'] } },
  })
  await signInAt('/schedules/new')
  await page.getByLabel('Name').fill('nightly')
  await page.getByLabel('Time zone').fill('UTC')
  await page.getByLabel('Statement').fill('select 1')
  await page.getByLabel('Notify').fill('https://hooks.example.org/jobs')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  const schedule = page.getByRole('region', { name: 'Schedule nightly' })
  await schedule.getByText(/Next run/).waitFor()
  await schedule.getByText('Notifies https://hooks.example.org/jobs').waitFor()
  await schedule.getByText('It was not due yet.').waitFor()
  await schedule.getByRole('button', { name: 'Run now' }).click()
  await page.waitForURL(/\/jobs\//)
  await goTo('/schedules')
  await schedule
    .getByRole('list', { name: 'Last runs' })
    .getByRole('link', { name: /: done$/ })
    .waitFor()
  await assertAccessibleEverywhere(page)
  await schedule.getByRole('button', { name: 'Pause' }).click()
  await schedule.getByText('Paused', { exact: true }).waitFor()
  await schedule.getByRole('button', { name: 'Resume' }).click()
  await schedule.getByText(/Next run/).waitFor()
  await schedule.getByText('Notifies https://hooks.example.org/jobs').waitFor()
  const { username, masterToken: token, base } = user
  const client = createClient({ baseUrl: base.replace(/\/user\/.*/, ''), username, token })
  t.after(() => client.close())
  await client.schedules.delete('nightly')
  await page.getByText('No schedules yet.').waitFor()
})
