import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../../support/keys/client-of.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

test('a colleague opens the link, accepts, and works with a key of their own', async (t) => {
  const opened = await openConsole(t, { expected: /404/ })
  const { page, context, user, signInAt } = opened
  const { keys } = clientOf(t, opened)
  await keys.create({ name: 'ana', grants: [{ type: 'apis', apis: ['sql'] }] })
  await signInAt('/keys/ana')
  const panel = page.getByRole('region', { name: 'Invite a colleague' })
  await panel.getByRole('button', { name: 'Make a link' }).click()
  const link = (await panel.getByTestId('invitation').innerText()).trim()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: `${user.username} with the Master key` }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()

  const other = await context.newPage()
  await other.goto(link)
  await other.getByText(`You are invited to work in the account ${user.username}`).waitFor()
  await assertAccessibleEverywhere(other)
  assert.notEqual((await keys.details('ana')).invited_until, null, 'opening the link uses nothing up')
  await other.getByRole('button', { name: 'Accept' }).click()
  await other.getByText('This is the token of your key ana').waitFor()
  assert.ok(!other.url().includes('#'), other.url())
  assert.equal((await other.locator('code.token').innerText()).trim(), (await keys.read('ana')).token)
  await assertAccessibleEverywhere(other)
  await other.getByRole('button', { name: 'Open the console' }).click()
  await other.getByRole('button', { name: `${user.username} with the ana key` }).waitFor()

  await page.goto(link)
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByText('This invitation is not good: it was used').waitFor()
})
