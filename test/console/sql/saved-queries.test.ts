import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
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

  // Another machine: without this browser's storage.
  const other = await context.browser()!.newContext({ reducedMotion: 'reduce' })
  t.after(() => other.close())
  const there = await other.newPage()
  await there.goto(`${url}/console/sql`)
  await fillSignIn(there, user.username, user.masterToken)
  await there.getByRole('button', { name: 'More' }).click()
  await there.getByRole('menuitem', { name: 'Open or insert query…' }).click()
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
  await there.getByRole('menuitem', { name: 'Open or insert query…' }).click()
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

test('slashes in names are folders, search finds name, description and SQL, and a query is inserted at the cursor', async (t) => {
  const house = await openConsole(t)
  const { page, user, url } = house
  const { queries } = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  await queries.save('reports/cities/all', { sql: 'select 7 as lucky', description: 'Every city' })
  await queries.save('snippets/within', {
    sql: 'select :metres + 1 as metres',
    params: { metres: { type: 'integer', default: 500 } },
  })
  await queries.save('alone', { sql: 'select 1' })
  await house.signInAt('/sql')
  await write(page, 'select * from () inner_rows')
  for (let step = 0; step < ') inner_rows'.length; step++) await page.keyboard.press('ArrowLeft')
  const open = async () => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Open or insert query…' }).click()
  }
  const dialog = page.getByRole('dialog', { name: 'Open query' })
  await open()
  await dialog.getByRole('button', { name: /^alone/ }).waitFor()
  assert.deepEqual(await dialog.locator('summary').allTextContents(), ['reports/cities/ 1', 'snippets/ 1'])
  assert.ok(await dialog.getByRole('button', { name: /^all Every city/ }).isHidden())
  await dialog.getByText('reports/cities/').click()
  await dialog.getByRole('button', { name: /^all Every city/ }).waitFor()
  await assertAccessibleEverywhere(page)
  for (const [text, found] of [
    ['cities all', 'reports/cities/all'],
    ['EVERY', 'reports/cities/all'],
    ['lucky', 'reports/cities/all'],
    [':metres', 'snippets/within'],
  ] as const) {
    await dialog.getByLabel('Search').fill(text)
    await dialog.getByRole('button', { name: `Insert ${found}` }).waitFor()
    await eventually(async () => assert.equal(await dialog.locator('.saved-query').count(), 1))
  }
  await dialog.getByRole('button', { name: 'Insert snippets/within' }).click()
  await eventually(async () =>
    assert.equal(await editor(page).innerText(), 'select * from (select :metres + 1 as metres) inner_rows'),
  )
  assert.equal(await page.getByLabel(':metres', { exact: true }).inputValue(), '500')

  await open()
  await dialog.getByText('reports/cities/').click()
  await dialog.getByRole('button', { name: /^all Every city/ }).click()
  await page.keyboard.press('Control+s')
  const save = page.getByRole('dialog', { name: 'Save query' })
  assert.equal(await save.getByLabel('Name').inputValue(), 'reports/cities/all')
  await save.getByLabel('Name').fill('reports//all')
  assert.ok(await save.getByRole('button', { name: 'Save' }).isDisabled())
  await save.getByLabel('Name').fill('reports/2026')
  await save.getByRole('button', { name: 'Save' }).click()
  await save.waitFor({ state: 'detached' })
  assert.equal((await queries.get('reports/2026')).sql, 'select 7 as lucky')
})
