import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard, editor, run, summary, write } from '../support/sql-page.ts'

test('the editor height, column widths and the last page are stored, and can be set without a mouse', async (t) => {
  const { page, signIn, goTo } = await openConsole(t)
  await signIn()
  await run(page, 'select 1 as narrow')
  const divider = page.getByRole('separator', { name: 'Height of the editor' })
  await divider.press('End')
  await eventually(async () => assert.equal(await divider.getAttribute('aria-valuenow'), '85'))
  await divider.press('ArrowUp')
  await page.getByRole('grid').focus()
  const width = async () => (await page.getByRole('columnheader', { name: 'narrow' }).boundingBox())!.width
  const before = await width()
  await page.keyboard.press('>')
  await eventually(async () => assert.equal(await width(), before + 24))
  await page.getByRole('link', { name: 'Account' }).click()
  await page.getByText('settings').waitFor()
  await goTo('/')
  await page.waitForURL('**/console/account')
  await page.getByRole('link', { name: 'SQL' }).click()
  await eventually(async () => assert.equal(await divider.getAttribute('aria-valuenow'), '80'))
  await run(page, 'select 2 as narrow')
  await eventually(async () => assert.equal(await width(), before + 24))
  const { x, y } = (await divider.boundingBox())!
  await page.mouse.move(x + 100, y + 3)
  await page.mouse.down()
  await page.mouse.move(x + 100, y - 200)
  await page.mouse.up()
  await eventually(async () => assert.ok(Number(await divider.getAttribute('aria-valuenow')) < 70))
})

test('too many rows for the browser are sorted by the service', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, 'select i, -i as "Odd name" from generate_series(1, 200001) i')
  await page.getByRole('columnheader', { name: 'Odd name' }).click()
  await page
    .getByText('200,001 rows are too many to sort in the browser. Sort by Odd name on the server?')
    .waitFor()
  await page.getByRole('button', { name: 'Ascending' }).click()
  await eventually(async () => assert.deepEqual((await cells(page))[0], ['200001', '-200001']), 60_000)
})

test('all statements run in one transaction if the option is on', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table log (what int)')
  await signIn()
  const runAll = async (text: string) => {
    await write(page, text)
    await page.keyboard.press('Control+Shift+Enter')
  }
  const count = async () => (await user.sql('select from log')).rowCount
  await runAll('insert into log values (1); select 1 / 0')
  await page.getByRole('alert').getByText('division by zero').waitFor()
  assert.equal(await count(), 1)
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Run all in one transaction' }).click()
  await runAll('insert into log values (3); select 1 / 0')
  await page.getByRole('alert').getByText('division by zero').waitFor()
  assert.equal(await count(), 1)
})

test('a link that names an unknown key runs nothing', async (t) => {
  const { page, signInAt, goTo, user, url } = await openConsole(t)
  await createClient({ baseUrl: url, username: user.username, token: user.masterToken }).keys.create({
    name: 'reader',
    grants: [{ type: 'apis', apis: ['sql'] }],
  })
  await signInAt('/sql#as=none')
  await page.getByText('The key none was not found, so nothing runs.').waitFor()
  await write(page, 'select 1')
  await page.keyboard.press('Control+Enter')
  await page.keyboard.press('Control+Shift+Enter')
  assert.equal(await summary(page).count(), 0)
  await goTo('/sql#as=reader')
  await page.getByRole('button', { name: 'Run as reader' }).waitFor()
  await run(page, 'select current_user = session_user as it')
  await summary(page).filter({ hasText: 'as reader' }).waitFor()
})

test('the palette finds tables and the history, and opens a statement in a draft without running it', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table "Öffentliche Orte" (n int)')
  await signIn()
  await run(page, 'select 77 as lucky')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('orte')
  await page.getByRole('option', { name: 'public.Öffentliche Orte, table' }).waitFor()
  await page.getByRole('combobox').fill('history lucky')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'shared', exact: true }).waitFor()
  await editor(page).getByText('select 77 as lucky').waitFor()
})

test('without HTTPS, drafts, results, copying and downloads work too', async (t) => {
  const { page, signIn } = await openConsole(t)
  await page.addInitScript(() => {
    for (const [owner, name] of [
      [Crypto.prototype, 'randomUUID'],
      [Crypto.prototype, 'subtle'],
      [Navigator.prototype, 'clipboard'],
    ] as const) {
      Object.defineProperty(owner, name, { value: undefined })
    }
  })
  await signIn()
  await page.keyboard.press('Alt+n')
  await run(page, "select 'copied' as text")
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download ▾' }).click()
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click()
  assert.equal((await download).suggestedFilename(), 'result.csv')
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+c')
  await page.locator('.toast', { hasText: 'Copied' }).waitFor()
  const other = await page.context().newPage()
  await other.goto('about:blank')
  assert.equal(await clipboard(other).catch(() => 'copied'), 'copied')
})

test('with reduced motion nothing moves, not even the cursor of the editor', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await editor(page).focus()
  const moving = await page
    .locator('.editor')
    .evaluate(({ shadowRoot }) =>
      [...document.getAnimations(), ...shadowRoot!.getAnimations()].map(({ playState }) => playState),
    )
  assert.deepEqual(moving, [])
})
