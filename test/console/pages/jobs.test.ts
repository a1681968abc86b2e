import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { type JobItem, partsOf } from '../../../src/contract/job-items.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

const withWorker = { setup: { worker: true } }
const endless = 'select pg_sleep(600)'

test('a chain with fallbacks is created, followed to its end, and listed after a reload and in another tab', async (t) => {
  const { page, context, url, signIn, goTo, user } = await openConsole(t, withWorker)
  await user.sql('create table log (what text)')
  await signIn()
  const other = await context.newPage()
  await other.goto(`${url}/console/jobs`)
  await other.getByText('No jobs yet').waitFor()
  await goTo('/jobs/new')
  await statement(page, 1).fill('create table big as select n from generate_series(1, 1000) n')
  await page.getByRole('button', { name: 'Add a statement' }).click()
  await statement(page, 2).fill('create index on big (n)')
  await page.getByText('Fallbacks and time limit of statement 2').click()
  await page.getByLabel('Time limit of statement 2').fill('60')
  await page
    .getByRole('textbox', { name: 'onsuccess At the end of the job' })
    .fill("insert into log values ('<%= job_id %>')")
  await page.getByRole('button', { name: 'Start job' }).click()
  await status(page, 'done').waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)
  assert.deepEqual((await user.sql('select what from log')).rows, [{ what: id }])
  assert.equal(await page.getByTestId('duration').count(), 2)
  for (const each of [page, other]) {
    if (each === page) await goTo('/jobs')
    await each.getByRole('row', { name: /create table big.*done/ }).waitFor()
  }
})

test('a job is cancelled, edited while it waits, and run again', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t, withWorker)
  await user.sql('create table log (what text)')
  const running = await jobs(user).create([endless])
  const waiting = await jobs(user).create(["insert into log values ('first')"])
  await signInAt(`/jobs/${waiting.job_id}`)
  await status(page, 'pending').waitFor()
  await page.getByText('Waiting: jobs of one user').waitFor()
  await page.getByRole('link', { name: 'Edit' }).click()
  await statement(page, 1).fill("insert into log values ('changed')")
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText("values ('changed')").waitFor()

  await goTo(`/jobs/${running.job_id}`)
  await status(page, 'running').waitFor()
  await page.getByRole('link', { name: 'Jobs 2' }).waitFor()
  await page.getByRole('button', { name: 'Cancel job' }).click()
  await status(page, 'cancelled').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Cancel job' }).count(), 0)

  await goTo(`/jobs/${waiting.job_id}`)
  await status(page, 'done').waitFor()
  await page.getByRole('button', { name: 'Run again' }).click()
  await page.waitForURL((address) => !address.pathname.endsWith(waiting.job_id))
  await status(page, 'done').waitFor()
  assert.deepEqual((await user.sql('select what from log')).rows, [{ what: 'changed' }, { what: 'changed' }])
})

test('a job of one statement keeps its values, limit, name, labels and retry when it is run again or duplicated', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t, withWorker)
  const api = jobs(user)
  const tags = { name: 'nightly', labels: ['a'], retry: { attempts: 3, backoff_s: 7 } }
  const { job_id: id } = await api.run('select $1::text', { params: ['x'], timeout: 61_000, ...tags })
  const assertSame = async () => {
    await page.waitForURL((address) => !address.pathname.includes(id) && !address.pathname.endsWith('/jobs'))
    await status(page, 'done').waitFor()
    const copy = await api.details(new URL(page.url()).pathname.split('/').at(-1)!)
    const [{ params, timeout }] = partsOf(copy).items as [JobItem]
    assert.deepEqual([params, timeout], [['x'], 61_000])
    assert.deepEqual({ name: copy.name, labels: copy.labels, retry: copy.retry }, tags)
  }
  await signInAt(`/jobs/${id}`)
  await page.getByRole('button', { name: 'Run again' }).click()
  await assertSame()
  await goTo(`/jobs/${id}`)
  await page.getByRole('link', { name: 'Duplicate' }).click()
  await page.getByRole('button', { name: 'Start job' }).click()
  await assertSame()
})

test('a failed job says which statement failed and why, and no text of it becomes markup', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t, withWorker)
  const markup = '<img src=x onerror=alert(1)>😀'
  await user.sql('create table log (what text)')
  await signInAt('/jobs/new')
  await statement(page, 1).fill(`do $$ begin raise exception '${markup}'; end $$`)
  await page.getByText('Fallbacks and time limit of statement 1').click()
  await page.getByRole('textbox', { name: 'onerror After statement 1' }).fill('insert into log values ()')
  await page.getByRole('textbox', { name: 'onerror After statement 1' }).press('ArrowLeft')
  await page.getByRole('button', { name: 'Insert error_message into onerror After statement 1' }).click()
  await page.getByRole('button', { name: 'Start job' }).click()
  await status(page, 'failed').waitFor()
  await page.getByRole('alert').first().getByText(markup).waitFor()
  assert.deepEqual((await user.sql('select what from log')).rows, [{ what: markup }])
  await goTo('/jobs')
  await page.getByRole('row', { name: /raise exception.*failed/ }).waitFor()
})

test('a job whose answer is lost is sent again and is still one job', async (t) => {
  const { page, user, signInAt } = await openConsole(t, withWorker)
  await user.sql('create table log (what text)')
  await signInAt('/jobs/new')
  await statement(page, 1).fill("insert into log values ('once')")
  let lost = 0
  await page.route('**/api/v2/sql/job', async (route) => {
    if (lost++ > 0) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Start job' }).click()
  await status(page, 'done').waitFor()
  assert.equal(lost, 2)
  assert.deepEqual((await user.sql('select what from log')).rows, [{ what: 'once' }])
})

test('the list has the jobs of every client, is filtered by status, SQL and label, and shows older ones', async (t) => {
  const { page, user, signInAt } = await openConsole(t, withWorker)
  const api = jobs(user)
  for (let left = 51; left > 0; left--) await api.run(`select ${left}`)
  await api.run('select 1', { name: 'Nightly <b>', labels: ['nightly'] })
  await api.run('select 1/0').catch(() => undefined)
  await signInAt('/jobs')
  await page.getByRole('row', { name: /Nightly <b>.*nightly.*done/ }).waitFor()
  assert.equal(await page.getByRole('row').count(), 51)
  await page.getByRole('button', { name: 'Show older jobs' }).click()
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 54))
  await page.getByLabel('Status').selectOption('failed')
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2))
  await page.getByRole('row', { name: /select 1\/0.*failed/ }).waitFor()
  await page.getByLabel('Status').selectOption('all')
  await page.getByLabel('Filter by SQL').fill('SELECT 33')
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2))
  await page.getByLabel('Filter by SQL').fill('no such text')
  await page.getByText('No job matches the filter').waitFor()
  await page.getByLabel('Filter by SQL').fill('')
  await page.getByRole('button', { name: 'nightly', exact: true }).click()
  await eventually(async () => assert.equal(await page.getByRole('row').count(), 2))
  await page.getByRole('link', { name: 'Nightly <b>' }).click()
  await status(page, 'done').waitFor()
})

test('a job that is no longer stored says so', async (t) => {
  const { page, signInAt } = await openConsole(t, withWorker)
  await signInAt('/jobs/37c7050e-46a4-4476-b82e-268a4f2ea5ed')
  await page.getByText('was not found').waitFor()
})

test('a job that is too long is reported before it is sent, and a wrong clock changes no time or age', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t, withWorker)
  await page.addInitScript(() => {
    const now = Date.now
    Date.now = () => now() + 10_800_000
  })
  const { job_id: id } = await jobs(user).create({ query: [endless] })
  await signInAt(`/jobs/${id}`)
  await eventually(async () =>
    assert.match(await page.getByTestId('duration').innerText(), /^([1-9]|\d\d)\.\d s$/),
  )
  await page.getByRole('button', { name: 'Cancel job' }).click()
  await status(page, 'cancelled').waitFor()
  await page.getByRole('link', { name: 'Duplicate' }).click()
  await statement(page, 1).fill(`select '${'x'.repeat(1_050_000)}'`)
  await page.getByText('too long').waitFor()
  await page.getByRole('button', { name: 'Start job' }).click()
  await page.getByText('The query is too large').waitFor()
  assert.match(await statement(page, 1).inputValue(), /xxx/)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('row', { name: /select pg_sleep.*cancelled (just now|\d min ago)/ }).waitFor()
  await goTo('/keys/Master')
  await page.getByText(/Created (just now|\d min ago)/).waitFor()
})

test('a job too long for the classic address runs', async (t) => {
  const { page, signInAt } = await openConsole(t, withWorker)
  await signInAt('/jobs/new')
  await statement(page, 1).fill(`select '${'x'.repeat(17_000)}'`)
  await page.getByText(/^17,\d+ of 1,048,576 characters/).waitFor()
  await page.getByRole('button', { name: 'Start job' }).click()
  await status(page, 'done').waitFor()
})

test('the job pages are accessible, and a job is started without a mouse', async (t) => {
  const { page, goTo, signInAt } = await openConsole(t, withWorker)
  // Not on the SQL page: the editor would take the keys.
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.getByText('No jobs yet').waitFor()
  await page.keyboard.press('Alt+n')
  await statement(page, 1).focus()
  await page.keyboard.type('select nothing from nowhere')
  await page.getByText('Fallbacks and time limit of statement 1').focus()
  await page.keyboard.press('Enter')
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Start job' }).focus()
  await page.keyboard.press('Enter')
  await status(page, 'failed').waitFor()
  await assertAccessibleEverywhere(page)
  await goTo('/jobs')
  await page.getByRole('row', { name: /select nothing/ }).waitFor()
  await assertAccessibleEverywhere(page)
})

const statement = (page: Page, number: number) => page.getByLabel(`Statement ${number}`, { exact: true })

/** The status of the job, beside its heading. */
const status = (page: Page, name: string) => page.locator('h1 + .badge', { hasText: name })

const jobs = (user: TestUser) =>
  createClient({
    baseUrl: new URL(user.base).origin,
    username: user.username,
    token: user.masterToken,
  }).jobs

test('the page of a job shows position, progress, locks and rows as they come', async (t) => {
  const { page, user, signInAt, goTo } = await openConsole(t, withWorker)
  await user.sql(`create table big as select n, repeat('x', 500) as filler from generate_series(1, 2000) n;
    create function slow(n int) returns int immutable language plpgsql as
      $$ begin perform pg_sleep(0.005); return n; end $$`)
  const running = await jobs(user).create(['update big set n = n', 'create index on big (slow(n))'])
  const waiting = await jobs(user).create(['select 1'])
  await signInAt(`/jobs/${running.job_id}`)
  await page.getByText('2,000 rows').waitFor()
  await page.getByText('Statement 2 of 2').waitFor()
  await page.getByText('building index: scanning table').waitFor()
  await page.getByRole('progressbar').waitFor()
  await goTo(`/jobs/${waiting.job_id}`)
  await page.getByText('1 of your jobs is ahead.').waitFor()
  await status(page, 'done').waitFor()
})
