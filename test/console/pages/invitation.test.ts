import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../../support/keys/client-of.ts'
import { eventually } from '../../support/service/setup.ts'
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
  await page.getByText('This invitation is no longer valid: it was used').waitFor()
})

test('the list of keys shows the open invitations, soonest end first, and one press withdraws one', async (t) => {
  const opened = await openConsole(t)
  const { page, user, signInAt } = opened
  const { keys } = clientOf(t, opened)
  const grants = [{ type: 'apis', apis: ['sql'] }] as const
  await signInAt('/keys')
  await page.getByText('No invitation is open.').waitFor()
  for (const [name, days] of [
    ['late', 20],
    ['soon', 2],
    ['new', 10],
  ] as const) {
    await keys.createFull({ name, grants, description: `For ${name}` })
    await keys.invite(name, { expires_at: new Date(Date.now() + days * 86_400_000).toISOString() })
  }
  await keys.createFull({ name: 'alone', grants })
  await page.reload()
  const list = page.getByRole('region', { name: 'Open invitations' }).getByRole('table')
  await list.getByText('For soon').waitFor()
  assert.deepEqual(await list.locator('tbody a').allTextContents(), ['soon', 'new', 'late'])
  await list.getByRole('cell', { name: 'sql', exact: true }).first().waitFor()
  await assertAccessibleEverywhere(page)
  await list.getByRole('button', { name: 'Withdraw the invitation to soon' }).click()
  await list.getByText('For soon').waitFor({ state: 'detached' })
  assert.equal((await keys.details('soon')).invited_until, null)
  assert.notEqual((await keys.details('late')).invited_until, null)
  await page.getByRole('row', { name: /^alone regular .* never/ }).waitFor()
  const used = await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${(await keys.read('alone')).token}`)
  assert.equal(used.status, 200)
  // Written with the next batch, by the process that served it.
  await eventually(async () => assert.notEqual((await keys.details('alone')).last_used_at, null))
  await page.reload()
  await page
    .getByRole('row', { name: /^alone regular .* (just now|\d+ min ago) (just now|\d+ min ago)/ })
    .waitFor()
})
