import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { cells, clipboard, editor, resultTabs, run, summary, write } from '../support/sql-page.ts'

test('every digit is kept, NULL differs from an empty string, and a column named 1 keeps its position', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  const wide = 'select 9007199254740993 as b, 0.1000 as "1", null as n, \'\' as e, \'{"x":1.50}\'::json as j'
  await run(page, wide)
  await eventually(async () =>
    assert.deepEqual(await cells(page), [['9007199254740993', '0.1000', 'NULL', '', '{"x":1.50}']]),
  )
  const headers = await page.getByRole('columnheader').allTextContents()
  assert.deepEqual(headers.slice(1), ['b', '1', 'n', 'e', 'j'])

  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+c')
  await eventually(async () =>
    assert.equal(await clipboard(page), '9007199254740993\t0.1000\t\t\t"{""x"":1.50}"'),
  )
  for (const [format, text] of [
    ['CSV', 'b,1,n,e,j\n9007199254740993,0.1000,,"","{""x"":1.50}"'],
    ['JSON', '[\n  {"b": 9007199254740993, "1": 0.1000, "n": null, "e": "", "j": "{\\"x\\":1.50}"}\n]'],
  ]) {
    await page.getByRole('button', { name: 'Copy ▾' }).click()
    await page.getByRole('menuitem', { name: `Copy as ${format}`, exact: true }).click()
    await eventually(async () => assert.equal(await clipboard(page), text))
  }
  await page.getByRole('gridcell').first().dblclick()
  await page.getByRole('complementary').getByText('9007199254740993').waitFor()
  await page.getByRole('button', { name: 'Close the cell' }).click()
  await assertAccessibleEverywhere(page)
})

test('a draft is there after the tab was closed', async (t) => {
  const { page, context, url, user, signIn } = await openConsole(t)
  await signIn()
  await write(page, 'select 1 as before')
  await page.keyboard.press('Alt+n')
  await write(page, "select 'not yet run'")
  const isClosed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await isClosed
  const later = await context.newPage()
  await later.goto(`${url}/console/sql`)
  await fillSignIn(later, user.username, user.masterToken)
  await editor(later).getByText("select 'not yet run'").waitFor()
  await later.getByRole('button', { name: 'query 1', exact: true }).click()
  await editor(later).getByText('select 1 as before').waitFor()
  assert.equal(await summary(later).count(), 0, 'nothing was run')
})

test('late completions of one draft do not reach the next, and text goes into the visible draft', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  let answer: () => void = () => undefined
  const late = new Promise<void>((resolve) => {
    answer = resolve
  })
  const asked = page.waitForRequest((request) => isForFunctions(request.postData()))
  await page.route('**/api/v2/sql', async (route) => {
    if (isForFunctions(route.request().postData())) await late
    await route.continue()
  })
  await write(page, 'select 1 as one, ')
  await page.keyboard.type('pg_b')
  await asked
  const answered = page.waitForResponse((response) => isForFunctions(response.request().postData()))
  await page.keyboard.press('Alt+n')
  await page.keyboard.type('2')
  answer()
  await answered
  await page.keyboard.type('3')
  await eventually(async () => assert.equal(await editor(page).textContent(), '23'))
  await page.getByRole('button', { name: 'query 1', exact: true }).click()
  await eventually(async () => assert.equal(await editor(page).textContent(), 'select 1 as one, pg_b'))
  await page.keyboard.press('Control+z')
  await eventually(async () => assert.notEqual(await editor(page).textContent(), 'select 1 as one, pg_b'))
})

const isForFunctions = (body: string | null) => body?.includes('pg_get_function_identity_arguments') ?? false

test('Stop leaves no statement in the database and keeps the rows that arrived', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await write(
    page,
    'select i, pg_sleep(case when i > 500 then 60 else 0 end) from generate_series(1, 1000) i',
  )
  await page.keyboard.press('Control+Enter')
  const running = async () => {
    const { rows } = await user.sql(
      "select query from pg_stat_activity where query like '%pg_sleep(case%' and state = 'active' and pid <> pg_backend_pid()",
    )
    return rows.length
  }
  await eventually(async () => assert.equal(await running(), 1))
  await page.keyboard.press('Control+.')
  await page.getByRole('main').getByText('Stopped.').waitFor()
  await eventually(async () => assert.equal(await running(), 0))
})

test('an error is marked at its position, in its statement', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places (name text, pop int)')
  await signIn()
  await run(page, "select 1;\nselect '🙂', nam from places")
  await page.getByRole('alert').getByText('column "nam" does not exist').waitFor()
  await page.getByRole('alert').getByText('Perhaps you meant to reference the column "places.name"').waitFor()
  assert.equal(await page.locator('.cm-lintRange-error').textContent(), 'nam')
  await assertAccessibleEverywhere(page)
})

test('completion offers the columns of an aliased table, quoted if needed', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places (name text, "Odd Column" int)')
  await signIn()
  await write(page, 'select  from places p')
  for (let step = 0; step < ' from places p'.length; step++) await page.keyboard.press('ArrowLeft')
  await eventually(async () => {
    await page.keyboard.type('p.')
    try {
      await page.getByRole('option', { name: 'Odd Column' }).waitFor({ timeout: 1_000 })
    } catch (error) {
      for (let step = 0; step < 2; step++) await page.keyboard.press('Backspace')
      throw error
    }
  })
  await page.getByRole('option', { name: 'Odd Column' }).click()
  await eventually(async () =>
    assert.equal(await editor(page).textContent(), 'select p."Odd Column" from places p'),
  )
})

test('statements run in order up to the first error; a pinned result stays', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await write(page, "select 1 as a; select ';' as b; select 1 / 0; select 4 as never")
  await page.keyboard.press('Control+Shift+Enter')
  await page.getByRole('alert').getByText('division by zero').waitFor()
  const tabs = resultTabs(page)
  assert.deepEqual(await tabs.allTextContents(), [
    '1 · select 1 as a',
    "2 · select ';' as b",
    '✕ 3 · select 1 / 0',
  ])
  await page.getByRole('button', { name: 'Pin result 2' }).click()
  await run(page, 'select 5 as e')
  await eventually(async () => assert.deepEqual(await cells(page), [['5']]))
  assert.deepEqual(await tabs.allTextContents(), ["2 · select ';' as b (pinned)", '4 · select 5 as e'])
  await tabs.first().click()
  await eventually(async () => assert.deepEqual(await cells(page), [[';']]))
})

test('a statement that deletes data asks before it runs', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places (name text)')
  await user.sql("insert into places values ('a')")
  await signIn()
  await write(page, "delete from places -- where name = 'b'")
  await page.keyboard.press('Control+Enter')
  const dialog = page.getByRole('dialog', { name: 'Run this statement?' })
  await dialog.getByText('DELETE without WHERE changes every row of the table.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await user.sql('select from places')).rowCount, 1)
  await page.keyboard.press('Control+Enter')
  await dialog.getByRole('button', { name: 'Run anyway' }).click()
  await page.getByText('1 row affected').waitFor()
  assert.equal((await user.sql('select from places')).rowCount, 0)
})

test('the last of a million rows can be reached, and the page holds only a few', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await write(
    page,
    "select i, 'row ' || i as name, i * 0.5 as half, now() as at, null as n from generate_series(1, 1000000) i",
  )
  await page.keyboard.press('Control+Enter')
  await summary(page).filter({ hasText: '1,000,000 rows' }).waitFor({ timeout: 120_000 })
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+End')
  await eventually(async () =>
    assert.deepEqual((await cells(page)).at(-1)?.slice(0, 3), ['1000000', 'row 1000000', '500000.0']),
  )
  await page.keyboard.press('Control+Home')
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '1'))
  const debug = await page.context().newCDPSession(page)
  await debug.send('HeapProfiler.collectGarbage')
  const { usedSize } = await debug.send('Runtime.getHeapUsage')
  assert.ok(usedSize < 30_000_000, `the main thread holds ${usedSize} bytes`)
  await page.getByLabel('Find in all rows').fill('row 777777')
  await page.keyboard.press('Enter')
  await page.getByRole('gridcell', { name: 'row 777777', selected: true }).waitFor()
})
