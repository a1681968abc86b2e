import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { keysClient } from '../../support/keys/keys-client.ts'
import { eventually } from '../../support/service/setup.ts'
import { fillSignIn, openConsole } from '../support/open-console.ts'
import { editor, run, write } from '../support/sql-page.ts'

async function signOut(page: Page, username: string): Promise<void> {
  await page.getByRole('button', { name: username }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await page.getByLabel('API key').waitFor()
}

test('signing out reaches a tab on another page', async (t) => {
  const { page, context, url, signIn, user } = await openConsole(t)
  await signIn()
  const second = await context.newPage()
  await second.goto(`${url}/console/account`)
  await second.getByRole('heading', { name: user.username }).waitFor()
  await second.goto(`${url}/health`)
  await signOut(page, user.username)
  await second.goBack()
  await second.getByLabel('API key').waitFor()
  assert.deepEqual(await second.evaluate(() => ({ ...sessionStorage })), {})
})

test('drafts and history are shown only to the key they were written with', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await signInAt('/sql')
  await run(page, "select 'a secret' as word")
  await write(page, "select 'a secret draft'")
  await signOut(page, user.username)

  const shows = async () => {
    await editor(page).waitFor()
    const text = await editor(page).textContent()
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'History' }).click()
    await page.getByRole('dialog').waitFor()
    const history = await page.getByRole('dialog').textContent()
    await page.keyboard.press('Escape')
    return /secret/.test(`${text} ${history}`)
  }
  await goTo('/sql')
  await page.getByLabel('User').fill(user.username)
  await page.getByRole('button', { name: 'Browse public data without a key' }).click()
  assert.equal(await shows(), false)
  await signOut(page, user.username)

  const { token } = await keysClient(user).make('weak')
  await goTo('/sql')
  await fillSignIn(page, user.username, token)
  assert.equal(await shows(), false)
  await signOut(page, user.username)

  await signInAt('/sql')
  await eventually(async () => assert.equal(await shows(), true))
})

test('signing in with a weaker key over an open page hides what was on it', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await signInAt('/sql')
  await write(page, "select 'a secret draft'")
  await keysClient(user).regenerate('Master')
  await page.keyboard.press('Control+Enter')
  await page.getByText('Your key is no longer accepted').waitFor()
  await page.getByRole('button', { name: 'Browse public data without a key' }).click()
  await eventually(async () => assert.doesNotMatch((await editor(page).textContent()) ?? 'secret', /secret/))
})

test('a draft written while signing out is kept, and only for its key', async (t) => {
  const { page, context, url, signIn, signInAt, user } = await openConsole(t)
  await signIn()
  const second = await context.newPage()
  await second.goto(`${url}/console/account`)
  await second.getByRole('heading', { name: user.username }).waitFor()
  await page.goto(`${url}/console/sql`)
  await write(page, "select 'a last word'")
  await signOut(second, user.username)
  await page.getByLabel('API key').waitFor()
  const names = await page.evaluate(() => Object.keys(localStorage))
  assert.deepEqual(
    names.filter((name) => name.startsWith('cartage:operator')),
    [],
  )
  await signInAt('/sql')
  await eventually(async () => assert.match((await editor(page).textContent()) ?? '', /a last word/))
})

test('forgetting this computer deletes also what was written a moment ago', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await signInAt('/sql')
  await write(page, "select 'a last word'")
  await page.getByRole('button', { name: user.username }).click()
  await page.getByRole('menuitem', { name: 'Sign out and forget this computer' }).click()
  await page.getByLabel('API key').waitFor()
  await eventually(async () =>
    assert.deepEqual(
      await page.evaluate(async () => [Object.keys(localStorage), (await indexedDB.databases()).length]),
      [[], 0],
    ),
  )
})
