import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible } from '../support/axe.ts'
import { inShell } from '../support/in-shell.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard, editor, run, summary, write } from '../support/sql-page.ts'

test('one click turns a statement over the time limit into a job, which is followed to its end, and its table opens', async (t) => {
  const options = { setup: { worker: true, config: { queryTimeoutMs: 1_000 } } }
  const { page, signIn } = await openConsole(t, options)
  await signIn()
  await run(page, 'select 42 as answer from pg_sleep(2)')
  await page.getByRole('alert').getByText('its limit for one request').waitFor()
  await page.getByRole('button', { name: 'Run as a job' }).click()
  const dialog = page.getByRole('dialog', { name: 'Run as a job' })
  await assertAccessible(page)
  await dialog.getByLabel('New table').fill('slow one')
  await dialog.getByRole('button', { name: 'Start job' }).click()
  await page.getByText(/^Job [0-9a-f-]+: done after/).waitFor()
  await page.getByRole('button', { name: 'Open slow one' }).click()
  await editor(page).getByText('select * from "slow one"').waitFor()
  await page.keyboard.press('Control+Enter')
  await eventually(async () => assert.equal((await cells(page))[0]?.at(-1), '42'))
})

test('a result over 512 MB is stopped in the database too, with a download or a job offered', async (t) => {
  const { page, signIn, user } = await openConsole(t, { setup: { config: { queryTimeoutMs: 120_000 } } })
  await signIn()
  await run(page, "select i, repeat('x', 1000000) as x from generate_series(1, 1000000) i", 100_000)
  const [, rows] = /Stopped at (\d+) rows: the browser holds at most 512 MB/.exec(
    await page.getByText('the browser holds at most').innerText(),
  )!
  assert.ok(Number(rows) > 500 && Number(rows) < 530, `${rows} rows`)
  assert.match(await summary(page).innerText(), new RegExp(`^${rows} rows · 51\\d MB`))
  const running =
    "select from pg_stat_activity where query like '%repeat(''x''%' and state = 'active' and pid <> pg_backend_pid()"
  await eventually(async () => assert.equal((await user.sql(running)).rowCount, 0))
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+End')
  await page.getByRole('gridcell', { selected: true }).waitFor()
  await page.getByRole('button', { name: 'Download ▾' }).waitFor()
  await page.getByRole('button', { name: 'Run as a job' }).click()
  await page.getByRole('dialog', { name: 'Run as a job' }).getByLabel('New table').waitFor()
})

test('a shared link is shown, not run', async (t) => {
  const { page, signIn, goTo, user } = await openConsole(t)
  await user.sql('create table places (name text)')
  await signIn()
  await write(page, "drop table places; -- '🙂' & more")
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Copy a link to this draft' }).click()
  await eventually(async () => assert.match(await clipboard(page), /\/console\/sql#s=/))
  const link = new URL(await clipboard(page))
  await goTo('/account')
  await page.getByText('no quota').waitFor()
  await page.goto(link.href)
  await page.getByRole('button', { name: 'shared', exact: true }).waitFor()
  await editor(page).getByText("drop table places; -- '🙂' & more").waitFor()
  assert.equal(new URL(page.url()).hash, '')
  assert.equal(await summary(page).count(), 0)
  assert.equal((await user.sql('select from places')).rowCount, 0)
})

test('a statement is found in the history and opened in a draft', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, 'select 123 as found_again')
  await run(page, 'select nothing')
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'History' }).click()
  const dialog = page.getByRole('dialog', { name: 'History' })
  await dialog.getByRole('button', { name: /select nothing\s*failed/ }).waitFor()
  await assertAccessible(page)
  await dialog.getByLabel('Search').fill('again')
  await dialog.getByRole('button', { name: /select 123/ }).click()
  await editor(page).getByText('select 123 as found_again').waitFor()
})

test('a download is complete in every format; an early error is shown, a broken stream is a failed download', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, "select i, 'é\n' || i as name from generate_series(1, 50000) i")
  const download = async (format: string) => {
    const started = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download ▾' }).click()
    await page.getByRole('menuitem', { name: format, exact: true }).click()
    return started
  }
  const text = async (format: string) => readFile(await (await download(format)).path(), 'utf8')
  assert.equal((await text('CSV')).trim().split('\n').length, 1 + 50_000 * 2)
  assert.equal((JSON.parse(await text('JSON')) as { rows: unknown[] }).rows.length, 50_000)
  assert.equal((await text('NDJSON')).trim().split('\n').length, 50_000)
  const arrays = await download('ArrayBuffer')
  assert.equal(arrays.suggestedFilename(), 'result.arraybuffer')
  assert.ok((await readFile(await arrays.path())).length > 50_000 * 4)
  const copied = await download('Binary (COPY)')
  assert.equal(copied.suggestedFilename(), 'result.dmp')
  assert.equal((await readFile(await copied.path())).subarray(0, 6).toString(), 'PGCOPY')

  await run(page, 'select 1 / (50000 - i) from generate_series(1, 50000) i')
  const torn = await download('CSV')
  assert.notEqual(await torn.failure(), null)
  await run(page, 'select 1 as a, nam from nowhere')
  await page.getByRole('button', { name: 'Download ▾' }).click()
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click()
  await page.getByRole('alert').getByText('Download failed: relation "nowhere" does not exist').waitFor()
})

test('a link downloads the rows of a statement without a key until it is withdrawn', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, 'select 7 as n')
  const open = async () => {
    await page.getByRole('button', { name: 'Download ▾' }).click()
    await page.getByRole('menuitem', { name: 'Link without a key…' }).click()
    await page.getByLabel('Format').selectOption('NDJSON')
    await page.getByLabel('Works for').selectOption('an hour')
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Make link' }).click()
    return page.getByRole('region', { name: 'Link' }).innerText()
  }
  const url = await open()
  assert.equal(await (await fetch(url)).text(), '{"n":7}\n')
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('The link is withdrawn').first().waitFor()
  assert.equal((await fetch(url)).status, 404)
  await run(page, 'create table made as select 1')
  await page.getByRole('button', { name: 'Download ▾' }).click()
  await page.getByRole('menuitem', { name: 'Link without a key…' }).click()
  await page.getByRole('button', { name: 'Make link' }).click()
  await page.getByRole('alert').getByText('q must be one SELECT').waitFor()
})

test('a statement runs as another key or without one, with the real credential, here and by its curl command', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table secret (name text)')
  await signIn()
  await run(page, 'select count(*) from secret')
  await eventually(async () => assert.deepEqual(await cells(page), [['0']]))
  await page.getByRole('button', { name: 'Run as Master' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'anonymous' }).click()
  await run(page, 'select count(*) from secret')
  await page.getByRole('alert').getByText('permission denied for table secret').waitFor()
  await summary(page).filter({ hasText: 'as anonymous' }).waitFor()
  const anonymous = await copyCurl(page)
  assert.match(JSON.parse(await inShell(anonymous, '')).error[0], /permission denied for table secret/)
  await page.getByRole('button', { name: 'Run as anonymous' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Master' }).click()
  await write(page, "select '\"$HOME\" `id` it''s' as it, count(*) from secret")
  const asMaster = await copyCurl(page, anonymous)
  assert.ok(!asMaster.includes(user.masterToken))
  const { rows } = JSON.parse(await inShell(asMaster, user.masterToken))
  assert.deepEqual(rows, [{ it: '"$HOME" `id` it\'s', count: 0 }])
})

async function copyCurl(page: Page, former = ''): Promise<string> {
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Copy as curl' }).click()
  return eventually(async () => {
    const line = await clipboard(page)
    assert.ok(line.startsWith('curl ') && line !== former, line)
    return line
  })
}

test('names and values with markup, script or a megabyte of text stay complete text', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  const hostile = '<img src=x onerror=alert(1)>"\'</script>🙂'
  const name = `"${hostile.slice(0, 40).replaceAll('"', '""')}"`
  await user.sql(`create table ${name} (${name} text)`)
  await user.sql(`insert into ${name} values ($1), (repeat('x', 1000000))`, [hostile])
  await signIn()
  await run(page, `select * from ${name}`)
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], hostile))
  await page.getByRole('gridcell').nth(1).dblclick()
  await page.getByText('1,000,000 characters').waitFor()
  await run(page, `select ${name} from ${name} where nonsense = '${hostile.replaceAll("'", "''")}'`)
  await page.getByRole('alert').getByText('column "nonsense" does not exist').waitFor()
  assert.equal(await page.locator('img').count(), 0)
})
