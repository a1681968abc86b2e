import assert from 'node:assert/strict'
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

test('the next run of a schedule is shown in the time zone of the viewer, which a new schedule has', async (t) => {
  const { page, user, signInAt, goTo } = await openConsole(t, { context: { timezoneId: 'Asia/Tokyo' } })
  const { username, masterToken: token, base } = user
  const client = createClient({ baseUrl: new URL(base).origin, username, token })
  t.after(() => client.close())
  await client.schedules.put('yearly', { cron: '30 17 31 12 *', timezone: 'Europe/Paris', query: 'select 1' })
  await signInAt('/schedules')
  const schedule = page.getByRole('region', { name: 'Schedule yearly' })
  await schedule.getByText(/Next run \d{4}-01-01 01:30:00/).waitFor()
  await goTo('/schedules/new')
  await page.getByLabel('Time zone').waitFor()
  assert.equal(await page.getByLabel('Time zone').inputValue(), 'Asia/Tokyo')
})
