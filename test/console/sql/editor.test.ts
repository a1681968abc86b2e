import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, write } from '../support/sql-page.ts'

const shows = (page: Page, text: string) =>
  eventually(async () => assert.equal(await editor(page).innerText(), text))

test('the editor finds and replaces and takes several cursors, with the keys listed in the help', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await write(page, 'select town, town as t from town;')
  await page.keyboard.press('Control+f')
  const panel = page.locator('.editor .cm-search')
  await panel.getByLabel('Find', { exact: true }).fill('town')
  await panel.getByLabel('Replace', { exact: true }).fill('city')
  await assertAccessibleEverywhere(page)
  await panel.getByRole('button', { name: 'replace all' }).click()
  await shows(page, 'select city, city as t from city;')
  await panel.getByLabel('Find', { exact: true }).press('Escape')
  await panel.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+z')
  await shows(page, 'select town, town as t from town;')

  // Selects a word, then the next one too.
  await page.keyboard.press('Control+Home')
  for (let step = 0; step < 'select to'.length; step++) await page.keyboard.press('ArrowRight')
  for (let times = 0; times < 3; times++) await page.keyboard.press('Control+d')
  await page.keyboard.type('x')
  await shows(page, 'select x, x as t from x;')

  await write(page, 'a\nb')
  await page.keyboard.press('Control+Alt+ArrowUp')
  await page.keyboard.type('1')
  await shows(page, 'a1\nb1')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Home')
  const { x, y, height } = (await page.locator('.editor .cm-line').last().boundingBox())!
  await page.keyboard.down('Alt')
  await page.mouse.click(x + 300, y + height / 2)
  await page.keyboard.up('Alt')
  await page.keyboard.type('2')
  await shows(page, '2a1\nb12')

  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  for (const name of [
    /^Find and replace in the editor Ctrl\+F/,
    /^Select the next occurrence too Ctrl\+D/,
    /Alt\+click/,
    /^Format the statement/,
  ])
    await help.getByRole('row', { name }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('find and replace')
  await page.keyboard.press('Enter')
  await panel.waitFor()
})

test('Run on a schedule opens the form with the statement at the cursor and its values', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await signInAt('/sql')
  await write(page, 'select 1; select :n + 1 as n')
  const choose = async () => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Run on a schedule…' }).click()
  }
  await choose()
  await page.getByText('No value', { exact: true }).waitFor()
  await page.getByLabel(':n', { exact: true }).fill('41')
  await page.getByLabel('Type of :n').selectOption('integer')
  await choose()
  await page.getByRole('heading', { name: 'New schedule' }).waitFor()
  await eventually(async () =>
    assert.match(await page.getByLabel('Statement').inputValue(), /^select .*\$1.* \+ 1 as n$/),
  )
  assert.deepEqual(await page.getByRole('list', { name: 'Values' }).getByRole('listitem').allTextContents(), [
    '$1 = "41"',
  ])
  assert.equal(new URL(page.url()).hash, '')
  await assertAccessible(page)
  await page.getByLabel('Name').fill('hourly')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await page.getByRole('region', { name: 'Schedule hourly' }).waitFor()
  const answer = await fetch(`${user.base}/api/v4/schedules/hourly?api_key=${user.masterToken}`)
  const { params } = (await answer.json()) as { params: unknown }
  assert.deepEqual(params, ['41'])
})
