import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { clientOf } from '../../support/keys/client-of.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessible } from '../support/axe.ts'
import { browser } from '../support/browser.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { editor, run } from '../support/sql-page.ts'

test('what was run in one browser is in the history of another, until it is deleted there', async (t) => {
  const house = await openConsole(t)
  const { page, user, signInAt } = house
  await signInAt('/sql')
  await run(page, "select '<b>' as found_everywhere")
  await run(page, 'select nothing')
  const { history } = clientOf(t, house)
  await eventually(async () => assert.equal((await history.list()).statements.length, 2))
  const told = (await history.list()).statements.map(({ outcome, rows, code }) => [outcome, rows, code])
  assert.deepEqual(told, [
    ['failed', null, '42703'],
    ['done', 1, null],
  ])
  const other = await freshBrowser(t, house.url, user)
  const dialog = await openHistory(other)
  await dialog.getByRole('button', { name: /select nothing\s*failed · as Master/ }).waitFor()
  await dialog.getByText('Kept by the service for 90 days').waitFor()
  await assertAccessible(other)
  await dialog.getByLabel('Search').fill('everywhere')
  await eventually(async () =>
    assert.equal(await dialog.getByRole('button', { name: 'Delete', exact: true }).count(), 1),
  )
  await dialog.getByRole('button', { name: /found_everywhere\s*1 row/ }).click()
  await editor(other).getByText("select '<b>' as found_everywhere").waitFor()
  const again = await openHistory(other)
  await again.getByRole('button', { name: 'Delete', exact: true }).first().click()
  await eventually(async () => assert.equal((await history.list()).statements.length, 1))
  await again.getByRole('button', { name: 'Delete all' }).click()
  await other
    .getByRole('dialog', { name: 'Delete the history?' })
    .getByRole('button', { name: 'Delete' })
    .click()
  await again.getByText('No statements found.').waitFor()
  assert.deepEqual((await history.list()).statements, [])
  // A browser keeps what it stored itself until it is deleted there.
  const own = await openHistory(page)
  await own.getByRole('button', { name: /found_everywhere/ }).waitFor()
})

test('the palette finds what was run in another browser, by any word of it, and opens it without running it', async (t) => {
  const house = await openConsole(t)
  const { page, user, signInAt } = house
  const { history } = clientOf(t, house)
  const long = `select ${Array.from({ length: 40 }, (_, at) => `${at} as column_${at}`).join(', ')}, 'far away' as marker`
  await history.add({ text: long, outcome: 'done', ms: 1, rows: 1 })
  await history.add({ text: 'select 5 as marker', outcome: 'done', ms: 1, rows: 1 })
  await signInAt('/sql')
  await run(page, 'select 6 as marker')
  await eventually(async () => assert.equal((await history.list()).statements.length, 3))
  const other = await freshBrowser(t, house.url, user)
  await other.keyboard.press('Control+k')
  const found = other.getByRole('option')
  await other.getByRole('combobox').fill('history marker')
  await found.filter({ hasText: 'select 6 as marker' }).waitFor()
  assert.equal(await found.count(), 3)
  await other.getByRole('combobox').fill('marker away')
  await eventually(async () => assert.equal(await found.count(), 1))
  await assertAccessible(other)
  await other.keyboard.press('Enter')
  await editor(other).getByText('as marker').waitFor()
  assert.equal((await history.list()).statements.length, 3)
  // What this browser has too is listed once.
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('marker')
  await eventually(async () => assert.equal(await page.getByRole('option').count(), 3))
})

test('the page of a key shows what was run with it, to its holder and to the holder of the Master key', async (t) => {
  const house = await openConsole(t)
  const { page, user, signInAt, goTo } = house
  const { keys, history } = clientOf(t, house)
  const { token } = await keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  const reader = clientOf(t, house, { token })
  await reader.history.add({ text: 'select 1 as by_holder', outcome: 'stopped', ms: 61_000 })
  await signInAt('/sql#as=reader')
  await page.getByRole('button', { name: 'Run as reader' }).waitFor()
  await run(page, 'select 2 as by_master')
  await eventually(async () => assert.equal((await history.list({ key: 'reader' })).statements.length, 2))
  await goTo('/keys/reader')
  const panel = page.getByRole('region', { name: 'Past statements' })
  await panel.getByRole('row', { name: /select 2 as by_master 1 row/ }).waitFor()
  const row = panel.getByRole('row', { name: /select 1 as by_holder stopped 1 min 1 s/ })
  await row.waitFor()
  await assertAccessible(page)
  await row.getByRole('button', { name: 'Open' }).click()
  await editor(page).getByText('select 1 as by_holder').waitFor()
  await goTo('/keys/Master')
  await panel.getByText('Nothing was run with this key in the console').waitFor()
  // The holder of the key does not see what the Master key ran.
  const other = await freshBrowser(t, house.url, user, token)
  const dialog = await openHistory(other)
  await dialog.getByRole('button', { name: /by_holder\s*stopped · as this key/ }).waitFor()
  assert.equal(await dialog.getByText('by_master').count(), 0)
})

test('without a history of the service the browser keeps its own', async (t) => {
  const house = await openConsole(t, { setup: { isIsolated: true, config: { historyDays: 0 } } })
  const { page, signInAt, goTo } = house
  await signInAt('/sql')
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/history')) sent.push(request.url())
  })
  await run(page, 'select 1 as kept_here')
  await eventually(() => assert.equal(sent.length, 1))
  const dialog = await openHistory(page)
  await dialog.getByRole('button', { name: /kept_here\s*1 row/ }).waitFor()
  await dialog.getByText('Kept in this browser only.').waitFor()
  await page.keyboard.press('Escape')
  await run(page, 'select 2 as kept_too')
  await page.route('**/api/v4/history*', (route) =>
    route.fulfill({ status: 403, contentType: 'application/json', body: '{"error":["no"]}' }),
  )
  const shut = await openHistory(page)
  await shut.getByRole('button', { name: /kept_too\s*1 row/ }).waitFor()
  await shut.getByText('Only what this browser keeps is shown: no').waitFor()
  await shut.getByRole('button', { name: 'Delete', exact: true }).first().click()
  await eventually(async () => assert.equal(await shut.getByText('kept_too').count(), 0))
  assert.equal(sent.length, 1)
  await page.unroute('**/api/v4/history*')
  await goTo('/keys/Master')
  await page.getByText('The operator of this service keeps no history of statements.').waitFor()
})

/** A browser without any earlier sign-in. */
async function freshBrowser(
  t: TestContext,
  url: string,
  user: TestUser,
  token = user.masterToken,
): Promise<Page> {
  const context = await (await browser(false)).newContext({ reducedMotion: 'reduce' })
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`${url}/console/sql`)
  await fillSignIn(page, user.username, token)
  await editor(page).waitFor()
  return page
}

async function openHistory(page: Page) {
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'History' }).click()
  return page.getByRole('dialog', { name: 'History', exact: true })
}
