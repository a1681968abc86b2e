import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { runningCopies } from '../../support/postgres/copying.ts'
import { basic, eventually, type TestUser } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { type SlowLine, slowLine } from '../support/slow-line.ts'
import { chooseFile, chooseGenerated, startUpload, tables } from '../support/upload-page.ts'

test('a tab that is closed in the middle of an upload leaves neither rows nor table', async (t) => {
  const { page, user } = await openMidUpload(t)
  const isClosed = page.waitForEvent('close')
  page.on('dialog', (dialog) => dialog.accept())
  await page.close({ runBeforeUnload: true })
  await isClosed
  await assertNothingLeft(user)
})

test('a page that crashes in the middle of an upload leaves neither rows nor table', async (t) => {
  const { page, context, user } = await openMidUpload(t)
  const debug = await context.newCDPSession(page)
  const isCrashed = page.waitForEvent('crash')
  debug.send('Page.crash').catch(() => undefined)
  await isCrashed
  await assertNothingLeft(user)
})

test('a computer that loses its network in the middle of an upload leaves neither rows nor table', async (t) => {
  const { user, line } = await openMidUpload(t)
  line.goSilent()
  await assertNothingLeft(user)
})

test('if the answer to an upload is lost the console checks the table, and the rows are stored once', async (t) => {
  const { page, signInAt, user, line } = await openOnSlowLine(t)
  await signInAt('/upload')
  const send = async (name: string, lostAnswers: number) => {
    await chooseGenerated(page, `${name}.csv`, { lines: 2 ** 15, bytesOfLine: 100 })
    await page.getByText('32,768 rows, all read').waitFor()
    await page.getByRole('button', { name: `Create table ${name}` }).click()
    await eventually(async () => assert.equal(await runningCopies(user), 1), 60_000)
    line.loseAnswers(/copyfrom$/, lostAnswers)
  }
  const rows = async (name: string) => (await user.sql(`select from ${name}`)).rowCount
  // Chromium repeats it on every kept-alive connection.
  await send('lost', Number.POSITIVE_INFINITY)
  await page.getByText('lost has 32,768 new rows').waitFor()
  assert.equal(await rows('lost'), 2 ** 15)
  await page.getByRole('button', { name: 'Another file' }).click()
  await send('again', 1)
  await page
    .getByText(/It is unknown whether the rows were stored|again has 32,768 new rows/)
    .first()
    .waitFor()
  assert.equal(await rows('again'), 2 ** 15)
})

/** Starts an upload of 66 MB: far more than the buffers of the system hold. */
async function openMidUpload(t: TestContext) {
  const opened = await openOnSlowLine(t)
  const { page, signInAt, user } = opened
  await signInAt('/upload')
  await chooseGenerated(page, 'large.csv', { lines: 2 ** 17, bytesOfLine: 500 })
  await page.getByLabel('Type of n').waitFor()
  await startUpload(page, user, 'large')
  return opened
}

async function openOnSlowLine(t: TestContext) {
  let line: SlowLine | undefined
  const opened = await openConsole(t, {
    setup: { worker: true, config: { copyIdleMs: 3_000 } },
    expected: /net::ERR_|crash/i,
    servedAt: async ({ url }) => {
      line = await slowLine(t, url)
      return line.url
    },
  })
  return { ...opened, line: line! }
}

async function assertNothingLeft(user: TestUser): Promise<void> {
  await eventually(async () => assert.equal(await runningCopies(user), 0), 60_000)
  assert.deepEqual(await tables(user), [])
}

test('if the key is replaced before and after the rows the console asks for it, and the file is stored once', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { setup: { worker: true } })
  await user.sql('create table twice (n int)')
  await signInAt('/upload')
  await chooseFile(page, 'n.csv', Buffer.from('n\n1\n2\n'))
  await page.getByText('2 rows, all read').waitFor()
  await page.getByLabel('Load into').selectOption({ label: 'Append to twice' })
  let token = user.masterToken
  const replaceBefore = async (url: RegExp) => {
    const former = token
    const replace = async (route: Route) => {
      token = await regenerate(user, former)
      await route.continue()
    }
    await page.route(url, replace, { times: 1 })
    return () => eventually(() => assert.notEqual(token, former), 60_000)
  }
  const first = await replaceBefore(/\/sql\/copyfrom/)
  await page.getByRole('button', { name: 'Append to twice' }).click()
  await first()
  const second = await replaceBefore(/\/sql\/job$/)
  await signInAgain(page, token)
  await second()
  await signInAgain(page, token)
  await page.getByText('twice has 2 new rows').waitFor()
  assert.equal((await user.sql('select from twice')).rowCount, 2)
})

test('a file of 2.5 GB is refused before anything is sent, and is not held in memory', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/upload')
  await page.getByText('Drop files on any page').waitFor()
  const before = rendererMegabytes()
  await chooseGenerated(page, 'huge.csv', { lines: 2 ** 20, bytesOfLine: 2400 })
  await page.getByText('The file has 2.5 GB, the limit is 2.1 GB').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Create table huge' }).isDisabled())
  await page
    .getByTestId('reading')
    .filter({ hasText: /, \d\d %$/ })
    .waitFor()
  const grown = rendererMegabytes() - before
  assert.ok(grown < 150, `${grown} MB more after 250 MB were read`)
})

test('a table of 1,600 columns with the longest names gets rows, whatever the order of the columns in the file', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { setup: { worker: true } })
  const names = Array.from(
    { length: 1600 },
    (_, at) => `${'a_name_as_long_as_postgresql_takes_'.repeat(2).slice(0, 58)}_${1000 + at}`,
  )
  await user.sql(`create table wide (${names.map((name) => `${name} int`).join(', ')})`)
  await signInAt('/upload')
  const header = names.toReversed().join(',')
  await chooseFile(page, 'w.csv', Buffer.from(`${header}\n7${',""'.repeat(1599)}\n`))
  await page.getByText('1 row, all read').waitFor()
  await page.getByLabel('Load into').selectOption({ label: 'Append to wide' })
  await page.getByRole('button', { name: 'Append to wide' }).click()
  await page.getByText('wide has 1 new row').waitFor()
  const { rows } = await user.sql(`select ${names[0]} as first, ${names[1599]} as last from wide`)
  assert.deepEqual(rows, [{ first: null, last: 7 }])
})

async function regenerate(user: TestUser, token: string): Promise<string> {
  const answer = await fetch(`${user.base}/api/v3/api_keys/Master/token/regenerate`, {
    method: 'POST',
    headers: basic(user.username, token),
  })
  return ((await answer.json()) as { token: string }).token
}

async function signInAgain(page: Page, token: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Your key is no longer accepted' })
  await dialog.getByLabel('API key').fill(token)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** The memory of all pages and workers in the browsers of this process. */
function rendererMegabytes(): number {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess)
  const isOurs = (pid: string): boolean =>
    pid === String(process.pid) || processes.some((each) => each.pid === pid && isOurs(each.parent))
  return processes
    .filter(({ pid, isRenderer }) => isRenderer && isOurs(pid))
    .reduce((sum, { megabytes }) => sum + megabytes, 0)
}

function readProcess(pid: string) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const [, parent] = /^PPid:\s+(\d+)/m.exec(status) ?? []
    const [, kilobytes] = /^RssAnon:\s+(\d+)/m.exec(status) ?? []
    if (parent === undefined || kilobytes === undefined) return []
    const isRenderer = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')
    return [{ pid, parent, megabytes: Number(kilobytes) / 1024, isRenderer }]
  } catch {
    // The process has already ended.
    return []
  }
}
