import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'

test('a shortcut pressed the moment its page appears is not lost', async (t) => {
  const { page, url, signInAt } = await openConsole(t)
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  for (const [name, seen, leadsTo] of [
    ['Jobs', 'No jobs yet', '/jobs/new'],
    ['Keys', 'These two keys came with the account', '/keys/new'],
  ] as const) {
    await pressOnceSeen(page, seen, { key: 'n', altKey: true })
    await page.getByRole('link', { name }).click()
    await eventually(() => assert.equal(page.url(), `${url}/console${leadsTo}`))
  }
})

test('a dialog, the palette and a menu take keys as soon as they open', async (t) => {
  const { page, url, user, signInAt } = await openConsole(t)
  await user.sql('create table places (name text)')
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  // As on a slow connection: the palette must not wait for a file.
  await page.route('**/assets/**', () => undefined)
  for (const [opener, focused] of [
    [{ key: '?' }, 'BUTTON'],
    [{ key: 'k', ctrlKey: true }, 'INPUT'],
  ] as const) {
    assert.deepEqual(await pressAndLook(page, opener), { isOpen: true, focused })
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const role = await page.getByRole('button', { name: 'Theme' }).evaluate(async (button) => {
    ;(button as HTMLElement).click()
    await new Promise((resolve) => setTimeout(resolve))
    return document.activeElement?.role
  })
  assert.equal(role, 'menuitemcheckbox')
  await page.keyboard.press('Escape')
  await page.unroute('**/assets/**')
  await page.reload()
  await page.getByText('Signed in with the Master key').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('places')
  await page.getByRole('option', { name: 'public.places' }).waitFor()
  await page.keyboard.press('Enter')
  await eventually(() => assert.equal(page.url(), `${url}/console/tables/public/places`))
})

type Key = Readonly<{ key: string; altKey?: boolean; ctrlKey?: boolean }>

/** Presses a key in the first task after the text appears. */
function pressOnceSeen(page: Page, text: string, key: Key): Promise<void> {
  return page.evaluate(
    ({ wanted, init }) => {
      const observer = new MutationObserver(() => {
        if (!document.body.textContent.includes(wanted)) return
        observer.disconnect()
        setTimeout(() => document.body.dispatchEvent(new KeyboardEvent('keydown', init)))
      })
      observer.observe(document.body, { childList: true, subtree: true, characterData: true })
    },
    { wanted: text, init: { bubbles: true, ...key } },
  )
}

/** Presses a key, and returns what has the focus in the next task. */
function pressAndLook(page: Page, key: Key) {
  return page.evaluate(
    async (init) => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', init))
      await new Promise((resolve) => setTimeout(resolve))
      const focused = document.activeElement?.tagName
      return { isOpen: document.querySelector('dialog[open]') !== null, focused }
    },
    { bubbles: true, ...key },
  )
}
