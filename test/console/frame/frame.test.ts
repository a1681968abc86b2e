import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'

test('a browser that opens the address gets the console and signs in with a user and a key', async (t) => {
  const { page, url, user } = await openConsole(t)
  await page.goto(url)
  assert.equal(page.url(), `${url}/console/`)
  await fillSignIn(page, user.username, 'not-the-key')
  await page.getByText('Wrong user or API key').waitFor()
  await fillSignIn(page, user.username, user.masterToken)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await eventually(() => assert.equal(page.url(), `${url}/console/sql`))
  await eventually(async () => assert.equal(await page.title(), 'SQL · Cartage'))
})

test('an open tab signs in a new one, and signing out ends both and leaves nothing', async (t) => {
  const { page, context, url, signIn, user } = await openConsole(t)
  await signIn()
  const second = await context.newPage()
  await second.goto(`${url}/console/account`)
  await second.getByRole('heading', { name: user.username }).waitFor()
  const stored = await context.storageState({ indexedDB: true })
  assert.ok(!JSON.stringify(stored).includes(user.masterToken), 'the token is in no storage that stays')

  await page.getByRole('button', { name: user.username }).click()
  await page.getByRole('menuitem', { name: 'Sign out and forget this computer' }).click()
  for (const each of [page, second]) await each.getByLabel('API key').waitFor()
  await eventually(async () => {
    const left = await page.evaluate(async () => ({
      databases: (await indexedDB.databases()).map(({ name }) => name),
      local: { ...localStorage },
      session: { ...sessionStorage },
    }))
    assert.deepEqual(left, { databases: [], local: {}, session: {} })
  })
})

test('a signed-out tab gives its key to no other tab, even before it has reloaded', async (t) => {
  const { page, context, url, signInAt } = await openConsole(t)
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  const other = await context.newPage()
  await other.goto(`${url}/health`)
  const heard = await other.evaluateHandle(() => {
    const messages: unknown[] = []
    const channel = new BroadcastChannel('cartage.session')
    channel.onmessage = ({ data }) => messages.push(data)
    for (const kind of ['signed-out', 'ask']) channel.postMessage({ kind })
    return messages
  })
  await page.getByLabel('API key').waitFor()
  // The reloaded page asks too, after all messages of the old one.
  await eventually(async () => assert.deepEqual(await heard.jsonValue(), [{ kind: 'ask' }]))
})

test('a visitor without a key can browse the public data of an account', async (t) => {
  const { page, goTo, user } = await openConsole(t)
  await goTo('/account')
  await page.getByLabel('User').fill(user.username)
  await page.getByRole('button', { name: 'Browse public data without a key' }).click()
  await page.getByText('Browsing public data without a key.').waitFor()
})

test('when a key stops working a dialog asks for another, and the page continues', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await signInAt('/account')
  await page.getByText('no quota').waitFor()
  const answer = await fetch(`${user.base}/api/v3/api_keys/Master/token/regenerate`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${user.username}:${user.masterToken}`)}` },
  })
  const { token } = (await answer.json()) as { token: string }
  await page.reload()
  const dialog = page.getByRole('dialog', { name: 'Your key is no longer accepted' })
  await dialog.waitFor()
  await assertAccessible(page)
  await dialog.getByLabel('API key').fill(token)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('no quota').waitFor()
  assert.equal(await dialog.count(), 0)
})

test('while the service does not answer the console says so, and continues when it is back', async (t) => {
  const { page, signIn } = await openConsole(t)
  await signIn()
  await page.route('**/{api,health}/**', (route) => route.abort('connectionrefused'))
  await page.getByRole('link', { name: 'Account' }).click()
  await page.getByText('The service does not answer.').waitFor()
  await page.unroute('**/{api,health}/**')
  await page.getByText('no quota').waitFor()
  await page.getByText('The service does not answer.').waitFor({ state: 'detached' })
})

test('everything in the frame works with the keyboard', async (t) => {
  const { page, url, signInAt } = await openConsole(t)
  // Not on the SQL page: the editor would take the keys.
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await eventually(() => assert.equal(page.url(), `${url}/console/jobs`))
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find a command, page or table' }).fill('go account')
  await page.keyboard.press('Enter')
  await eventually(() => assert.equal(page.url(), `${url}/console/account`))
  await page.keyboard.press('?')
  await page
    .getByRole('dialog', { name: 'Keyboard shortcuts' })
    .getByText('Show keyboard shortcuts')
    .waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('dialog').count(), 0)
})

test('on a phone one menu leads to every page', async (t) => {
  const { page, signInAt, url } = await openConsole(t)
  await signInAt('/account')
  await page.setViewportSize({ width: 360, height: 700 })
  await page.getByRole('button', { name: 'Page: Account' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Jobs' }).click()
  await eventually(() => assert.equal(page.url(), `${url}/console/jobs`))
  await page.getByRole('button', { name: 'Page: Jobs' }).waitFor()
})

test('sign-in and frame are accessible, light or dark, narrow or wide', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  await goTo('/')
  await page.getByLabel('API key').waitFor()
  await assertAccessibleEverywhere(page)
  await signInAt('/account')
  await page.getByText('no quota').waitFor()
  await page.getByRole('button', { name: user.username }).click()
  await assertAccessibleEverywhere(page)
})

test("no text becomes code or markup: the page's content security policy throws", async (t) => {
  const { page, goTo } = await openConsole(t, { expected: /Content Security Policy|requires 'Trusted/ })
  await goTo('/')
  const refused = await page.evaluate(() => {
    const attempts = [
      () => {
        document.body.innerHTML = '<b>markup</b>'
      },
      () => new Worker('/docs/static/swagger-ui.js'),
      () => {
        document.createElement('script').text = 'alert(1)'
      },
    ]
    return attempts.map((attempt) => {
      try {
        attempt()
        return 'allowed'
      } catch (error) {
        return (error as Error).name
      }
    })
  })
  assert.deepEqual(refused, ['TypeError', 'TypeError', 'TypeError'])
})
