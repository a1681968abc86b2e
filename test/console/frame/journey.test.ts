import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { inShell } from '../support/in-shell.ts'
import { drawnOf } from '../support/map-page.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { clipboard } from '../support/sql-page.ts'

test('a new user drops a CSV, sees it on a map, creates a key that can only read it, and checks that with curl', async (t) => {
  const { page, url, user } = await openConsole(t, { drawsMaps: true, setup: { worker: true } })
  await page.goto(url)
  await fillSignIn(page, user.username, user.masterToken)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()

  await dropFile(
    page,
    'harbours.csv',
    'name,lat,lon\nHamburg,53.54,9.97\nTrieste,45.65,13.77\nPiraeus,37.94,23.63\n',
  )
  await page.getByText('3 rows, all read').waitFor()
  await page.getByRole('button', { name: 'Create table harbours' }).click()
  await page.getByText('harbours has 3 new rows').waitFor()
  await page.getByRole('link', { name: 'Open map' }).click()
  await eventually(async () => {
    assert.equal((await drawnOf(page, 'points')).length, 3)
  }, 60_000)

  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('link', { name: 'New key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('reader')
  await page.getByLabel('select on harbours').check()
  await page.getByRole('button', { name: 'Create key' }).click()
  const works = await page.getByRole('region', { name: 'A request that works' }).innerText()
  const refused = await page.getByRole('region', { name: 'A request that is refused' }).innerText()
  await page.getByRole('button', { name: 'Copy token' }).click()
  const token = await eventually(async () => {
    const text = await clipboard(page)
    assert.match(text, /^cartage_/)
    return text
  })
  assert.deepEqual(JSON.parse(await inShell(works, token)).rows, [{ count: 3 }])
  assert.match(JSON.parse(await inShell(refused, token)).error[0], /permission denied/)
})

/** Drops a file. The code is a string, so that the test compiler leaves it alone. */
async function dropFile(page: Page, name: string, content: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([${JSON.stringify(content)}], '${name}'))
    for (const kind of ['dragenter', 'dragover', 'drop'])
      document.querySelector('main').dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }))
  }`)
}
