import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { type RunningProcess, startProcess } from '../../support/service/processes.ts'
import { eventually, type Setup } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, editor, run, summary, write } from '../support/sql-page.ts'
import { chooseLarge, slowUploads, startUpload, tables } from '../support/upload-page.ts'

test('if the service is killed during a query the console says that rows are missing, and works again after the restart', async (t) => {
  const { page, signIn, kill, restart } = await openOnProcess(t)
  await signIn()
  const half =
    'select i, pg_sleep(case when i > 5000 then 60 else 0 end)::text from generate_series(1, 6000) i'
  await write(page, half)
  await page.keyboard.press('Control+Enter')
  await summary(page)
    .filter({ hasText: /^Running… [1-9],\d{3} rows/ })
    .waitFor()
  await kill()
  await page.getByRole('alert').getByText('Rows are missing').waitFor()
  assert.ok((await cells(page)).length > 5, 'the rows that came stay')
  await write(page, 'select 7 as typed_meanwhile')
  const unanswered = page.getByRole('alert').getByText('The service does not answer. It may be restarting')
  await eventually(async () => {
    await page.keyboard.press('Control+Enter')
    await unanswered.waitFor({ timeout: 5_000 })
  }, 60_000)
  await away(page).waitFor()

  await restart()
  await away(page).waitFor({ state: 'detached' })
  await editor(page).getByText('select 7 as typed_meanwhile').waitFor()
  await run(page, 'select 8 as again')
  await eventually(async () => assert.deepEqual(await cells(page), [['8']]))
})

test('a job is followed to its end across a restart of the service, however long that takes', async (t) => {
  const { page, signInAt, user, url, stop, restart } = await openOnProcess(t)
  await user.sql('create table go (n int)')
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  const waits =
    'do $$ begin while not exists (select from go) loop perform pg_sleep(0.1); commit; end loop; end $$'
  const { job_id: id } = await client.jobs.create([waits, 'select 2'])
  await page.clock.install()
  const stopping = {
    status: 503,
    headers: { 'retry-after': '1' },
    json: { error: ['The service is shutting down'] },
  }
  await page.route(`**/sql/job/${id}*`, (route) => route.fulfill(stopping), { times: 1 })
  await signInAt(`/jobs/${id}`)
  const status = page.locator('h1 + .badge')
  await status.filter({ hasText: 'running' }).waitFor()
  assert.equal(await stop(), 0)
  await away(page).waitFor()
  // Longer than a single read waits.
  for (let step = 0; step < 4; step++) await page.clock.runFor(20_000)
  assert.equal(await page.getByRole('alert').count(), 0)
  await status.filter({ hasText: 'running' }).waitFor()

  await user.sql('insert into go values (1)')
  await restart()
  await status.filter({ hasText: 'done' }).waitFor()
})

test('if the service is killed during an upload neither rows nor table are left, and the console says so after the restart', async (t) => {
  const { page, signInAt, user, kill, restart } = await openOnProcess(t)
  await signInAt('/upload')
  await chooseLarge(page, 'large.csv')
  await page.getByLabel('Type of n').waitFor()
  await slowUploads(page)
  await startUpload(page, user, 'large')
  await kill()
  await away(page).waitFor()
  await restart()
  await page.getByText('Nothing was stored, and no table was created').waitFor()
  assert.deepEqual(await tables(user), [])
})

const away = (page: Page) => page.getByText('The service does not answer. Retrying. What you type is saved.')

/** Opens the console of a separate process. The set-up has the worker, so jobs run without this process. */
async function openOnProcess(t: TestContext) {
  let serving: RunningProcess | undefined
  const start = async ({ service, keys }: Setup, port = '0') => {
    const { config } = service.services
    serving = await startProcess(t, { config, keys }, ['serve', '--no-worker'], { CARTAGE_PORT: port })
    return serving.url
  }
  const opened = await openConsole(t, { setup: { worker: true }, servedAt: start })
  return {
    ...opened,
    kill: () => serving!.kill(),
    stop: () => serving!.stop(),
    restart: () => start(opened, new URL(opened.url).port),
  }
}
