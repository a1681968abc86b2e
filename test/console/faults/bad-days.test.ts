import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, eventually } from '../../support/service/setup.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { cells, editor, run, summary, write } from '../support/sql-page.ts'

const hostile = '<img src=x onerror=alert(1)>"\'</script>🙂'

test('when a key is replaced the console asks for the new one, and runs the statement with it', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await signIn()
  await run(page, 'select 1 as a')
  const answer = await fetch(`${user.base}/api/v3/api_keys/Master/token/regenerate`, {
    method: 'POST',
    headers: basic(user.username, user.masterToken),
  })
  const { token } = (await answer.json()) as { token: string }
  await write(page, 'select 2 as b')
  await page.keyboard.press('Control+Enter')
  const dialog = page.getByRole('dialog', { name: 'Your key is no longer accepted' })
  await dialog.getByLabel('API key').fill(token)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
  await eventually(async () => assert.deepEqual(await cells(page), [['2']]))
})

test('if the service goes away midway the rows that arrived stay, and the console says that rows are missing', async (t) => {
  const { page, signIn, admin, user } = await openConsole(t)
  await signIn()
  await write(
    page,
    'select i, pg_sleep(case when i > 5000 then 60 else 0 end)::text from generate_series(1, 6000) i',
  )
  await page.keyboard.press('Control+Enter')
  await summary(page)
    .filter({ hasText: /^Running… [1-9],\d{3} rows/ })
    .waitFor()
  await admin(
    `select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(case%' and pid <> pg_backend_pid()
     and datname = $1`,
    [user.account.database],
  )
  await page.getByRole('alert').getByText('Rows are missing').waitFor()
  assert.ok((await cells(page)).length > 5)
  await run(page, 'select 3 as again')
  await eventually(async () => assert.deepEqual(await cells(page), [['3']]))
})

test('if no answer comes the console says so, and nothing typed is lost', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await write(page, 'select 1 as kept')
  await page.route('**/{api,health}/**', (route) => route.abort('connectionrefused'))
  await page.keyboard.press('Control+Enter')
  await page.getByRole('alert').getByText('The service does not answer.').waitFor()
  await page.getByText('Retrying. What you type is saved.').waitFor()
  await editor(page).getByText('select 1 as kept').waitFor()
  await page.unroute('**/{api,health}/**')
  await page.getByText('Retrying. What you type is saved.').waitFor({ state: 'detached' })
  await run(page, 'select 1 as kept')
  await eventually(async () => assert.deepEqual(await cells(page), [['1']]))
})

test('of a result with 1,600 columns only the visible ones are drawn, and the last one can be reached', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, `select ${Array.from({ length: 1600 }, (_, at) => `${at} as c${at}`).join(', ')}`)
  await page.getByRole('grid').focus()
  assert.ok((await page.getByRole('columnheader').count()) < 60)
  await page.keyboard.press('End')
  await page.getByRole('gridcell', { name: '1599', selected: true }).waitFor()
  await page.getByRole('columnheader', { name: 'c1599' }).waitFor()
})

test('markup stays text in completions, errors, drafts and notices, however long', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  const name = `"${hostile.slice(0, 40).replaceAll('"', '""')}"`
  await user.sql(`create table t (${name} text); insert into t values ('x')`)
  await signIn()
  await write(page, 'select  from t')
  for (let step = 0; step < ' from t'.length; step++) await page.keyboard.press('ArrowLeft')
  await eventually(async () => {
    await page.keyboard.press('Control+Space')
    await page.getByRole('option', { name: '<img src=x' }).waitFor({ timeout: 2_000 })
  }, 60_000)
  await run(page, `do $$ begin raise notice '${hostile.replaceAll("'", "''")}'; end $$`)
  await page.getByRole('tab', { name: 'Messages (1)' }).click()
  await page.getByText(hostile).waitFor()
  await run(
    page,
    `do $$ begin raise exception '${hostile.replaceAll("'", "''")} %', repeat('x', 1000000); end $$`,
  )
  await page.getByRole('alert').getByText(hostile).waitFor()
  assert.equal(await page.locator('img').count(), 0)
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true)
})

test('in a browser without storage the console says so and works until the tab is closed', async (t) => {
  const { page, signIn } = await openConsole(t)
  await page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('refused', 'SecurityError')
    }
  })
  await signIn()
  await page.getByText('This browser stores nothing').waitFor()
  await run(page, 'select 5 as five')
  await eventually(async () => assert.deepEqual(await cells(page), [['5']]))
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'History' }).click()
  await page
    .getByRole('dialog', { name: 'History' })
    .getByRole('button', { name: /select 5/ })
    .waitFor()
})

test('drafts written in two tabs do not overwrite each other', async (t) => {
  const { page, context, url, signIn, user } = await openConsole(t)
  await signIn()
  await write(page, 'select 1 as first')
  const other = await context.newPage()
  await eventually(async () => {
    await other.goto(`${url}/console/sql`)
    assert.match((await editor(other).textContent({ timeout: 5_000 })) ?? '', /as first/)
  }, 30_000)
  await other.keyboard.press('Alt+n')
  await write(other, 'select 2 as second')
  await page.keyboard.press('Alt+n')
  await write(page, 'select 3 as third')
  for (const each of [page, other]) {
    const isClosed = each.waitForEvent('close')
    await each.close({ runBeforeUnload: true })
    await isClosed
  }
  const later = await context.newPage()
  await later.goto(`${url}/console/sql`)
  await fillSignIn(later, user.username, user.masterToken)
  const tabs = later.getByRole('button', { name: /^query [12]$/ })
  await tabs.nth(2).waitFor()
  const written = new Set<string | null>()
  await eventually(async () => {
    for (const tab of await tabs.all()) {
      await tab.click()
      written.add(await editor(later).textContent())
    }
    assert.deepEqual([...written].sort(), ['select 1 as first', 'select 2 as second', 'select 3 as third'])
  })
})

test('two tabs that open at once share the first draft', async (t) => {
  const { page, context, url, user, goTo } = await openConsole(t)
  await goTo('/keys')
  await fillSignIn(page, user.username, user.masterToken)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  const others = [await context.newPage(), await context.newPage()]
  await Promise.all(others.map((other) => other.goto(`${url}/console/sql`)))
  for (const other of others) await editor(other).waitFor()
  await others[0]!.reload()
  await editor(others[0]!).waitFor()
  assert.equal(await others[0]!.getByRole('button', { name: /^query \d$/ }).count(), 1)
})

test('a draft is saved although its tab is closed while the browser stores it', async (t) => {
  const { page, context, url, signIn, user } = await openConsole(t)
  await signIn()
  await editor(page).waitFor()
  const other = await context.newPage()
  await other.goto(`${url}/health`)
  const release = await other.evaluateHandle(holdStorage, `cartage:${user.username}`)
  await write(page, 'select 1 as kept')
  await page.waitForTimeout(1_000)
  const isClosed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await isClosed
  await release.evaluate((stop) => stop())
  await other.goto(`${url}/console/sql`)
  await fillSignIn(other, user.username, user.masterToken)
  await eventually(async () => assert.equal(await editor(other).textContent(), 'select 1 as kept'))
})

/** Keeps a transaction open, so that those of other tabs wait. Returns a function that ends it. */
async function holdStorage(name: string): Promise<() => void> {
  const database = await new Promise<IDBDatabase>((resolve) => {
    const opening = indexedDB.open(name)
    opening.onsuccess = () => resolve(opening.result)
  })
  const store = database.transaction('kept', 'readwrite').objectStore('kept')
  let isHeld = true
  const goOn = () => {
    if (isHeld) store.count().onsuccess = goOn
  }
  goOn()
  return () => {
    isHeld = false
  }
}

test('with no tables at all the page says what to do next', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await page.getByText('No tables yet. Results appear here').waitFor()
  await page.getByText('No tables yet. Upload a file').waitFor()
})

test('the console says how many columns of the same name are not shown', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await run(page, 'select 1 as a, 2 as a, 3 as b')
  await eventually(async () => assert.deepEqual(await cells(page), [['2', '3']]))
  await page.getByText('1 of 3 columns not shown: later ones have the same names').waitFor()
})
