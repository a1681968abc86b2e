import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { keysClient } from '../../support/keys/keys-client.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { storedResults } from '../support/kept-results.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { cells, resultTabs, run, summary } from '../support/sql-page.ts'

const facts = (page: Page) => page.locator('.run-tabs .run-facts')
const pin = (page: Page, id: number) => page.getByRole('button', { name: `Pin result ${id}` })

test('a pinned result is there after a reload with its time and key, only for its user, until it is forgotten', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  const { token } = await keysClient(user).make('reader')
  await signInAt('/sql')
  await run(page, "select i, 'row ' || i as name, 1.10 as n from generate_series(1, 3000) i")
  await eventually(async () =>
    assert.deepEqual(await facts(page).allTextContents(), ['3,000 rows · Master · just now']),
  )
  await pin(page, 1).click()
  await run(page, 'create table places ()')
  await eventually(async () =>
    assert.equal((await facts(page).allTextContents())[1], '0 rows · Master · just now'),
  )
  await eventually(async () => assert.equal((await storedResults(page, user.username)).length, 2))
  assert.ok(
    !(await storedResults(page, user.username)).join().includes(user.masterToken),
    'no token is stored',
  )

  await page.reload()
  const name = "1 · select i, 'row ' || i as name, 1.10 as … (pinned)"
  await eventually(async () => assert.deepEqual(await resultTabs(page).allTextContents(), [name]))
  await resultTabs(page).first().click()
  await eventually(async () => assert.deepEqual((await cells(page))[0], ['1', 'row 1', '1.10']))
  await summary(page)
    .filter({ hasText: /^3,000 rows · .* · as Master · of 20/ })
    .waitFor()
  await assertAccessibleEverywhere(page)
  // It runs again with the key of that name.
  await page.getByRole('button', { name: 'Download' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
  ])
  assert.match(await readFile(await download.path(), 'utf8'), /3000,row 3000,1.10/)

  await goTo('/account')
  await page.getByText(/^pinned results: 1 entry, \d+/).waitFor()
  await page.getByRole('button', { name: user.username }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await page.getByLabel('API key').waitFor()
  await goTo('/sql')
  await fillSignIn(page, user.username, token)
  await run(page, 'select 2 as two')
  assert.deepEqual(await resultTabs(page).allTextContents(), ['1 · select 2 as two'])
  await pin(page, 1).click()
  await eventually(async () =>
    assert.match(
      (await page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name))).join(),
      / \w+:large/,
    ),
  )
  await page.getByRole('button', { name: user.username }).click()
  await page.getByRole('menuitem', { name: 'Sign out and forget this computer' }).click()
  await page.getByLabel('API key').waitFor()
  await eventually(async () =>
    assert.equal(await page.evaluate(async () => (await indexedDB.databases()).length), 0),
  )
})

test('pinned results are kept up to 20 MB, the oldest are dropped first, and the page says which', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await signInAt('/sql')
  const large = (name: string) => `select repeat('x', 8000000) as ${name}`
  for (const [at, name] of ['first', 'second', 'third'].entries()) {
    await run(page, large(name))
    await pin(page, at + 1).click()
    // The list and the rows of each.
    await eventually(async () =>
      assert.equal((await storedResults(page, user.username)).length, Math.min(at + 2, 3)),
    )
  }
  await page
    .getByText(/No longer kept over a reload, to make room: select repeat\('x', 8000000\) as first of 20/)
    .waitFor()
  await run(page, "select repeat('x', 21000000) as v")
  await pin(page, 4).click()
  await page.getByText(/Pinned in this tab only: it has 21(\.\d)? MB/).waitFor()
  await page.reload()
  await eventually(async () =>
    assert.deepEqual(
      (await resultTabs(page).allTextContents()).map((text) => text.slice(4)),
      ['second', 'third'].map((name) => `${large(name)} (pinned)`),
    ),
  )
  await pin(page, 1).click()
  await eventually(async () => assert.equal((await storedResults(page, user.username)).length, 2))
  await goTo('/account')
  await page.getByText(/^pinned results: 1 entry/).waitFor()
  await page.getByRole('button', { name: 'Delete pinned results' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/^pinned results/).waitFor({ state: 'detached' })
  assert.deepEqual(await storedResults(page, user.username), [])
})
