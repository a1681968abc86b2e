import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, resultTabs, run, write } from '../support/sql-page.ts'

const bar = (page: Page) => page.locator('.transaction')
const button = (page: Page, name: string) => bar(page).getByRole('button', { name, exact: true })

test('BEGIN opens a transaction that the page shows until Commit or Roll back', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table log (what int)')
  await signIn()
  const stored = async () =>
    (await user.sql('select what from log order by what')).rows.map(({ what }) => what)
  await run(page, 'begin')
  await bar(page).getByText('A transaction is open as Master').waitFor()
  await run(page, 'insert into log values (1)')
  await run(page, 'select what from log')
  assert.deepEqual(await cells(page), [['1']])
  assert.deepEqual(await stored(), [])
  await button(page, 'Roll back').click()
  await bar(page).waitFor({ state: 'detached' })
  assert.deepEqual(await stored(), [])
  await write(page, 'begin; insert into log values (2); insert into log values (3)')
  await page.keyboard.press('Control+Shift+Enter')
  await button(page, 'Commit').click()
  await bar(page).waitFor({ state: 'detached' })
  assert.deepEqual(await stored(), [2, 3])
  await write(page, 'begin; insert into log values (4); rollback')
  await page.keyboard.press('Control+Shift+Enter')
  await eventually(async () => assert.equal(await resultTabs(page).count(), 3))
  await bar(page).waitFor({ state: 'detached' })
  assert.deepEqual(await stored(), [2, 3])
})

test('a failed transaction can only be rolled back, and a lost one says why', async (t) => {
  const { page, signIn, user, admin } = await openConsole(t)
  await user.sql('create table log (what int)')
  await signIn()
  await run(page, 'begin')
  await run(page, 'select 1 / 0')
  await page.getByRole('alert').getByText('division by zero').waitFor()
  await bar(page).getByText('The transaction has failed').waitFor()
  assert.ok(await button(page, 'Commit').isDisabled())
  await assertAccessibleEverywhere(page)
  await button(page, 'Roll back').click()
  await bar(page).waitFor({ state: 'detached' })
  await run(page, 'begin')
  await run(page, 'insert into log values (1)')
  await admin('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
    user.account.masterRole,
  ])
  await bar(page)
    .getByText(
      'The transaction was rolled back. The session has ended: the connection to the database was lost',
    )
    .waitFor()
  await button(page, 'Dismiss').click()
  await run(page, 'select count(*)::int as n from log')
  assert.deepEqual(await cells(page), [['0']])
})

test('Stop cancels the statement, not its transaction, and leaving the page rolls back', async (t) => {
  const { page, signIn, user, goTo } = await openConsole(t)
  await user.sql('create table log (what int)')
  await signIn()
  await run(page, 'begin')
  await write(page, 'select pg_sleep(20)')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('button', { name: '◼ Stop' }).click()
  await bar(page).getByText('The transaction has failed').waitFor()
  await button(page, 'Roll back').click()
  await bar(page).waitFor({ state: 'detached' })
  await run(page, 'begin')
  await run(page, 'insert into log values (1)')
  await goTo('/tables')
  await eventually(async () => {
    const { rows } = await user
      .sql("set lock_timeout = '1s'; lock table log; select what from log")
      .then((results) => (Array.isArray(results) ? results.at(-1) : results))
    assert.deepEqual(rows, [])
  })
})
