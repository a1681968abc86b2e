import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, resultTabs, run, write } from '../support/sql-page.ts'

const running = async (user: TestUser, beginning: string) =>
  (
    await user.sql(
      "select from pg_stat_activity where starts_with(query, $1) and state = 'active' and pid <> pg_backend_pid()",
      [beginning],
    )
  ).rowCount
const runningSleeps = (user: TestUser) => running(user, 'select pg_sleep(')
const runningCalls = (user: TestUser) => running(user, 'select until_done()')

async function start(page: Page, text: string): Promise<void> {
  await write(page, text)
  await page.keyboard.press('Control+Enter')
}

const goToPage = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()

test('results and a running statement are still there after visiting another page', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await run(page, "-- cities\nselect i, 'row ' || i as name from generate_series(1, 300) i")
  await page.getByRole('columnheader', { name: 'i', exact: true }).click()
  await page.getByRole('columnheader', { name: 'i ▴' }).click()
  await eventually(async () => assert.deepEqual((await cells(page))[0], ['300', 'row 300']))
  await page.getByRole('button', { name: 'Pin result 1' }).click()
  await user.sql('create table done ()')
  await user.sql(`create function until_done() returns void language plpgsql as
    $$ begin while not exists (select from done) loop perform pg_sleep(0.1); end loop; end $$`)
  await start(page, "select until_done(), 'late' as v")
  await eventually(async () => assert.equal(await runningCalls(user), 1))
  await goToPage(page, 'Keys')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await goToPage(page, 'Account')
  await page.getByText('no quota').waitFor()
  assert.equal(await runningCalls(user), 1, 'it runs on')
  await user.sql('insert into done default values')
  await page.locator('.toast', { hasText: "2 · select until_done(), 'late' as v: done" }).waitFor()
  await goToPage(page, 'SQL')
  await resultTabs(page).nth(1).waitFor()
  assert.deepEqual(await resultTabs(page).allTextContents(), [
    "1 · select i, 'row ' || i as name from gene… (pinned)",
    "2 · select until_done(), 'late' as v",
  ])
  await eventually(async () => assert.deepEqual(await cells(page), [['', 'late']]))
  await resultTabs(page).first().click()
  await eventually(async () => assert.deepEqual((await cells(page))[0], ['300', 'row 300']))
})

test('starting a statement while another runs asks first, and so does closing a running result', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await start(page, 'select pg_sleep(60)')
  await eventually(async () => assert.equal(await runningSleeps(user), 1))
  const dialog = page.getByRole('dialog', { name: 'A statement is running' })
  await start(page, 'select 2 as two')
  await dialog.getByText('1 · select pg_sleep(60)').waitFor()
  await assertAccessibleEverywhere(page)
  await dialog.getByRole('button', { name: 'Run both' }).click()
  await eventually(async () => assert.deepEqual(await cells(page), [['2']]))
  assert.deepEqual(await resultTabs(page).allTextContents(), [
    '⋯ 1 · select pg_sleep(60)',
    '2 · select 2 as two',
  ])
  assert.equal(await runningSleeps(user), 1)

  await page.getByRole('button', { name: 'Close result 1' }).click()
  const closing = page.getByRole('dialog', { name: 'Stop this statement?' })
  await closing.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await runningSleeps(user), 1)
  await start(page, 'select 3 as three')
  await dialog.getByRole('button', { name: 'Stop it and run this' }).click()
  await eventually(async () => assert.deepEqual(await cells(page), [['3']]))
  await eventually(async () => assert.equal(await runningSleeps(user), 0))

  await start(page, 'select pg_sleep(61)')
  await eventually(async () => assert.equal(await runningSleeps(user), 1))
  await page.getByRole('button', { name: 'Close result 4' }).click()
  await closing.getByRole('button', { name: 'Stop and close' }).click()
  await eventually(async () => assert.equal(await runningSleeps(user), 0))
})

test('a tab with a running statement asks before it closes', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await start(page, 'select pg_sleep(60)')
  await eventually(async () => assert.equal(await runningSleeps(user), 1))
  const asked = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  const question = await asked
  assert.equal(question.type(), 'beforeunload')
  await question.dismiss()
  assert.equal(await runningSleeps(user), 1)
  await page.keyboard.press('Control+.')
  await page.getByRole('main').getByText('Stopped.').waitFor()
  const closed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await closed
})

test('an open transaction stays open on another page', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table log (what int)')
  await signIn()
  await run(page, 'begin')
  await run(page, 'insert into log values (1)')
  await goToPage(page, 'Keys')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await goToPage(page, 'SQL')
  await page.locator('.transaction').getByRole('button', { name: 'Commit' }).click()
  await page.locator('.transaction').waitFor({ state: 'detached' })
  assert.equal((await user.sql('select from log')).rowCount, 1)
})

test('signing out stops the running statement without a question of the browser', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await run(page, "select 'secret' as v")
  await start(page, 'select pg_sleep(60)')
  await eventually(async () => assert.equal(await runningSleeps(user), 1))
  await page.getByRole('button', { name: `${user.username} with the Master key` }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await page.getByLabel('API key').waitFor()
  await eventually(async () => assert.equal(await runningSleeps(user), 0))
})
