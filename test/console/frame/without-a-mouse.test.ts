import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { basic, eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard, editor } from '../support/sql-page.ts'

test('sign-in, SQL, results, a download, a key and a job work without a mouse', async (t) => {
  const { page, goTo, user, url } = await openConsole(t, { setup: { worker: true } })
  const { keyboard } = page
  await user.sql('create table places (name text)')
  await goTo('/')
  await moveTo(page.getByLabel('User'))
  await keyboard.type(user.username)
  await moveTo(page.getByLabel('API key'))
  await keyboard.type(user.masterToken)
  await keyboard.press('Enter')

  await eventually(async () => assert.ok(await isFocused(editor(page)), 'one may write at once'), 60_000)
  await keyboard.insertText('select 1 as one')
  await keyboard.press('Control+Enter')
  await eventually(async () => assert.deepEqual(await cells(page), [['1']]))
  await moveTo(page.getByRole('grid'))
  await keyboard.press('Control+c')
  await eventually(async () => assert.equal(await clipboard(page), '1'))
  await moveTo(page.getByRole('button', { name: 'Download ▾' }), 'Shift+Tab')
  await keyboard.press('Enter')
  await moveTo(page.getByRole('menuitem', { name: 'CSV', exact: true }), 'ArrowDown')
  const [download] = await Promise.all([page.waitForEvent('download'), keyboard.press('Enter')])
  assert.equal((await readFile(await download.path(), 'utf8')).trim().replaceAll('\r', ''), 'one\n1')

  await press(page, 'g', 'k')
  await page.getByText('These two keys came with the account').waitFor()
  await keyboard.press('Alt+n')
  await moveTo(page.getByRole('textbox', { name: 'Name' }))
  await keyboard.type('typed')
  await moveTo(page.getByLabel('select on places'))
  await keyboard.press('Space')
  await moveTo(page.getByRole('button', { name: 'Create key' }))
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'typed', exact: true }).waitFor()
  await moveTo(page.getByRole('button', { name: 'Copy token' }))
  await keyboard.press('Enter')
  const token = await eventually(async () => {
    assert.match(await clipboard(page), /^cartage_/)
    return clipboard(page)
  })
  const query = `${user.base}/api/v2/sql?q=select+count(*)+from+places`
  assert.equal((await fetch(query, { headers: basic(user.username, token) })).status, 200)

  await press(page, 'g', 'j')
  await page.getByText('No jobs yet').waitFor()
  await keyboard.press('Alt+n')
  await moveTo(page.getByLabel('Statement 1', { exact: true }))
  await keyboard.type("insert into places values ('by keys alone')")
  await moveTo(page.getByRole('button', { name: 'Start job' }))
  await keyboard.press('Enter')
  await page.locator('h1 + .badge', { hasText: 'done' }).waitFor()
  assert.match(page.url(), new RegExp(`^${url}/console/jobs/[0-9a-f-]+$`))
  assert.deepEqual((await user.sql('select name from places')).rows, [{ name: 'by keys alone' }])
})

/** Presses Tab until the element has the focus. */
async function moveTo(place: Locator, key = 'Tab'): Promise<void> {
  await place.waitFor()
  for (let step = 0; step < 60; step++) {
    if (await isFocused(place)) return
    await place.page().keyboard.press(key)
  }
  assert.fail(`${key} does not reach ${place}`)
}

const isFocused = (place: Locator) => place.evaluate((element) => element.matches(':focus'))

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}
