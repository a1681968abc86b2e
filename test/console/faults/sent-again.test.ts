import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type * as Cartage from '../../../src/client/browser-client.ts'
import { setup } from '../../support/service/setup.ts'
import { browser } from '../support/browser.ts'
import { bundleClient } from '../support/bundle-client.ts'
import { openConsole } from '../support/open-console.ts'
import { type SlowLine, slowLine } from '../support/slow-line.ts'
import { run } from '../support/sql-page.ts'
import { chooseFile } from '../support/upload-page.ts'

/** Chromium repeats a request, also a POST, if it got no answer on a kept-alive connection. */

test('appended rows are stored once, even if the browser sends them again', async (t) => {
  const { page, signInAt, user, line } = await openOnLine(t)
  await user.sql('create table log (n int)')
  await signInAt('/upload')
  await chooseFile(page, 'n.csv', Buffer.from('n\n1\n2\n'))
  await page.getByText('2 rows, all read').waitFor()
  await page.getByLabel('Load into').selectOption({ label: 'Append to log' })
  line.loseAnswers(/^POST .*copyfrom$/, 1)
  await page.getByRole('button', { name: 'Append to log' }).click()
  await page.getByText(/It is unknown whether the rows were stored/).waitFor()
  assert.equal((await user.sql('select from log')).rowCount, 2)
})

test('a statement of the editor runs once, even if the browser sends it again', async (t) => {
  const { page, signInAt, user, line } = await openOnLine(t)
  await user.sql('create table log (n int)')
  await signInAt('/sql')
  await run(page, 'select 1')
  line.loseAnswers(/^POST .*sql$/, 1)
  await run(page, 'insert into log values (1)')
  await page
    .getByRole('region', { name: 'Results' })
    .getByText('This Idempotency-Key was used already')
    .waitFor()
  assert.equal((await user.sql('select from log')).rowCount, 1)
})

test('a new key is not reported as a duplicate if the browser sends its request again', async (t) => {
  const { page, signInAt, user, line } = await openOnLine(t)
  await signInAt('/keys/new')
  await page.getByRole('textbox', { name: 'Name' }).fill('reader')
  line.loseAnswers(/^POST .*api_keys$/, 1)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('This Idempotency-Key was used already').first().waitFor()
  const query = `api_key=${user.masterToken}`
  assert.equal((await fetch(`${user.base}/api/v3/api_keys/reader?${query}`)).status, 200)
})

test('the client in a page changes nothing twice, even if the browser sends a request again', async (t) => {
  const { url, user } = await setup(t)
  const line = await slowLine(t, url)
  const context = await (await browser(false)).newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.addScriptTag({ content: await bundleClient() })
  await user.sql('create table log (n int)')
  const run = (text: string) =>
    page.evaluate(runByClient, { baseUrl: line.url, username: user.username, token: user.masterToken, text })
  assert.equal(await run('select 1'), 'done')
  line.loseAnswers(/^POST /, 1)
  assert.equal(await run('insert into log values (1)'), 'request-repeated')
  assert.equal((await user.sql('select from log')).rowCount, 1)
})

/** Runs in the page. */
function runByClient({ text, ...options }: Cartage.ClientOptions & { text: string }) {
  const { createClient } = (globalThis as unknown as { Cartage: typeof Cartage }).Cartage
  return createClient(options)
    .sql(text)
    .then(
      () => 'done',
      (refused: Cartage.CartageError) => refused.code,
    )
}

async function openOnLine(t: TestContext) {
  let line: SlowLine | undefined
  const opened = await openConsole(t, {
    expected: /net::ERR_/i,
    servedAt: async ({ url }) => {
      line = await slowLine(t, url)
      return line.url
    },
  })
  return { ...opened, line: line! }
}
