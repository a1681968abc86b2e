import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { editor, write } from '../support/sql-page.ts'

const sql = 'select name from towns where country = :country limit :most'

test('Save puts a statement into the account, and Open shows it on another machine', async (t) => {
  const house = await openConsole(t)
  const { page, user, context, url } = house
  await user.sql('create table towns (name text, country text)')
  await house.signInAt('/sql')
  await write(page, sql)
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog', { name: 'Save query' })
  await dialog.getByLabel('Name').fill('towns of')
  assert.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled())
  await dialog.getByLabel('Name').fill('towns')
  await dialog.getByLabel('Type of most').selectOption('integer')
  await dialog.getByLabel('Default of most').fill('10')
  await dialog.getByLabel('Description').fill('Towns of a country')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  const answer = await fetch(`${user.base}/api/v4/queries/towns?api_key=${user.masterToken}`)
  const saved = (await answer.json()) as { sql: string; params: unknown }
  assert.deepEqual(
    [saved.sql, saved.params],
    [
      sql,
      {
        country: { type: 'text', required: true },
        most: { type: 'integer', default: '10', required: false },
      },
    ],
  )

  // Another machine: nothing of this browser's storage.
  const other = await context.browser()!.newContext({ reducedMotion: 'reduce' })
  t.after(() => other.close())
  const there = await other.newPage()
  await there.goto(`${url}/console/sql`)
  await fillSignIn(there, user.username, user.masterToken)
  await there.getByRole('button', { name: 'More' }).click()
  await there.getByRole('menuitem', { name: 'Open query…' }).click()
  await there.getByRole('button', { name: /^towns Towns of a country/ }).click()
  await eventually(async () => assert.equal(await editor(there).innerText(), sql))
  assert.equal(await there.getByLabel('Type of :most').inputValue(), 'integer')
  assert.equal(await there.getByLabel(':most', { exact: true }).inputValue(), '10')
  await there.getByLabel(':most', { exact: true }).fill('20')
  await there.getByRole('button', { name: 'More' }).click()
  await there.getByRole('menuitem', { name: 'Save query…' }).click()
  const again = there.getByRole('dialog', { name: 'Save query' })
  await again.getByText('Replaces towns.').waitFor()
  assert.equal(await again.getByLabel('Type of most').inputValue(), 'integer')
  assert.equal(await again.getByLabel('Default of most').inputValue(), '20')
  assert.equal(await again.getByLabel('Default of country').inputValue(), '')
  await again.getByRole('button', { name: 'Cancel' }).click()
  await there.getByRole('button', { name: 'More' }).click()
  await there.getByRole('menuitem', { name: 'Open query…' }).click()
  await there.getByRole('button', { name: 'Delete towns' }).click()
  await there.getByRole('button', { name: 'Delete', exact: true }).last().click()
  await there.getByText('No saved queries yet').waitFor()
})

test('a query that cannot run is not saved, and the dialog says why', async (t) => {
  const house = await openConsole(t, { expected: /400/ })
  const { page } = house
  await house.signInAt('/sql')
  await write(page, 'select * from nowhere')
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog', { name: 'Save query' })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('relation "nowhere" does not exist').waitFor()
})
