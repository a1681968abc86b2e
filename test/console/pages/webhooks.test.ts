import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openReceiver, verified } from '../../support/webhooks/receiver.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

const receiver = await openReceiver()

test('a webhook is added in the account and tested, and its messages are shown and sent again', async (t) => {
  const { page, signInAt } = await openConsole(t, {
    setup: { worker: true, config: { webhooks: [receiver.host] } },
    expected: /400/,
  })
  const hook = receiver.address()
  await signInAt('/account')
  const panel = page.getByRole('region', { name: 'Webhooks' })
  await panel.getByLabel('Address').fill('http://10.0.0.1/')
  await panel.getByRole('button', { name: 'Add webhook' }).click()
  await panel.getByText('10.0.0.1 is not an address that webhooks of this server may reach').waitFor()
  await panel.getByLabel('Address').fill(hook.url)
  await panel.getByRole('button', { name: 'Add webhook' }).click()
  const secret = await panel.getByText(/^whsec_/).innerText()
  await panel.getByRole('button', { name: 'Send test' }).click()
  const [first] = await hook.atLeast(1)
  assert.deepEqual(verified(first!, secret.trim()), first!.body)
  await panel.getByText('delivered', { exact: true }).waitFor()
  await assertAccessibleEverywhere(page)
  await panel.getByRole('button', { name: 'Send again' }).click()
  await hook.atLeast(2)
  await panel.getByRole('button', { name: `Delete ${hook.url}` }).click()
  await panel.getByText('No webhooks yet.').waitFor()
})
