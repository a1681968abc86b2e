import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { openConsole } from '../support/open-console.ts'
import { run } from '../support/sql-page.ts'

test('of two catalog requests the later one counts, whichever is answered last', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await run(page, 'select 1')
  const late = await holdFirst(page, '**/api/v2/sql', (route) => isCatalog(route))
  await run(page, 'create table older ()')
  await late.isHeld
  const second = page.waitForResponse((answer) => isCatalog(answer.request()))
  await run(page, 'create table newer ()')
  await second
  await late.answer()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('newer, table')
  await page.getByRole('option', { name: 'public.newer' }).waitFor()
})

test('the list of jobs is that of the later filter, whichever request is answered last', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/jobs/new')
  await page.getByLabel('Statement 1', { exact: true }).fill('select 1')
  await page.getByRole('button', { name: 'Start job' }).click()
  await page.getByText('Waiting: jobs of one user').waitFor()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('row', { name: /select 1.*pending/ }).waitFor()
  const late = await holdFirst(page, '**/api/v4/jobs?*', () => true)
  await late.isHeld
  await page.getByLabel('Filter by SQL').fill('select 2')
  await page.getByText('No job matches the filter').waitFor()
  await late.answer()
  await page.getByLabel('Status').selectOption('done')
  await page.getByText('No job matches the filter').waitFor()
  assert.equal(await page.getByRole('link', { name: 'select 1' }).count(), 0)
})

test('a statement becomes one job, however often its button is pressed', async (t) => {
  const { page, signIn } = await openConsole(t, { setup: { config: { queryTimeoutMs: 1_000 } } })
  await signIn()
  await run(page, 'select pg_sleep(2)')
  await page.getByRole('button', { name: 'Run as a job' }).click()
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
  })
  await page.getByRole('button', { name: 'Start job' }).dblclick()
  await page.getByText(/^Job [0-9a-f-]+: pending/).waitFor()
  assert.equal(sent.filter((path) => path.endsWith('/sql/job')).length, 1)
  await page.getByRole('button', { name: 'Cancel job' }).dblclick()
  await page.getByText(/^Job [0-9a-f-]+: cancelled/).waitFor()
})

type Asked = Readonly<{ postData: () => string | null }>

const isCatalog = (asked: Asked | Route) =>
  (('request' in asked ? asked.request() : asked).postData() ?? '').includes('current_schemas(false)')

/** Holds back the answer to the first such request until `answer` is called. */
async function holdFirst(page: Page, path: string, isMeant: (route: Route) => boolean) {
  let isFirst = true
  let held: () => void = () => undefined
  let answer: () => Promise<void> = async () => undefined
  const isHeld = new Promise<void>((resolve) => {
    held = resolve
  })
  await page.route(path, async (route) => {
    if (!isFirst || !isMeant(route)) return route.continue()
    isFirst = false
    const response = await route.fetch()
    answer = async () => {
      await route.fulfill({ response })
    }
    held()
  })
  return { isHeld, answer: () => answer() }
}
