import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../../support/service/setup.ts'
import { openAsOperator } from '../support/open-as-operator.ts'

test('the operator reads the whole text of a statement, which is audited, and the record since a day', async (t) => {
  const { url, keys, user } = await setup(t)
  const { page, goTo } = await openAsOperator(t, url, keys.adminToken)
  const q = `select pg_sleep(120) /* ${'x'.repeat(2_000)} the end */`
  const asked = fetch(`${user.base}/api/v2/sql?api_key=${user.masterToken}`, {
    method: 'POST',
    body: new URLSearchParams({ q }),
  })
  await goTo('/operator/activity')
  const row = page.getByRole('row', { name: user.username })
  await row.getByRole('button', { name: 'Whole text' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('the end */').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await row.getByRole('button', { name: 'Stop' }).click()
  assert.equal((await asked).status, 409)

  await goTo('/operator/audit')
  await page.getByLabel('Since').fill('2099-01-01')
  await page.getByText('No records found').waitFor()
  await page.getByLabel('Since').fill('2020-01-01')
  await page.getByRole('cell', { name: 'activity.read' }).first().waitFor()
})
