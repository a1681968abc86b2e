import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProxy } from '../../support/postgres/tcp-proxy.ts'
import { startHost } from '../../support/postgres/two-hosts.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { startEmbedded } from '../../support/service/embedded-service.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { setup } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openAsOperator } from '../support/open-as-operator.ts'

test('the operator adds a host by its address, gives it another, and removes it', async (t) => {
  const { config, keys, start } = await newInstallation(t)
  const service = await start()
  const cluster = await startHost(t, config.namespace)
  const { page, goTo } = await openAsOperator(t, service.url, keys.adminToken)
  await goTo('/operator/hosts')
  const address = page.getByLabel('Address of the host')
  const add = page.getByRole('button', { name: 'Add host' })
  await page.getByLabel('Name of the host').fill('second')
  await address.fill(cluster.url.replace(/:[^:@/]+@/, ':wrong@'))
  await add.click()
  await page.getByRole('alert').getByText('password authentication failed').waitFor()
  assert.equal(await address.getAttribute('type'), 'password')
  await assertAccessibleEverywhere(page)
  await address.fill(cluster.url)
  await add.click()
  const row = page.getByRole('row', { name: /^second / })
  await row.getByText(new URL(cluster.url).host).waitFor()
  assert.equal(await address.inputValue(), '')

  const proxy = await startProxy(t, cluster.url)
  await page.getByLabel('New address').fill(proxy.url)
  await page.getByRole('button', { name: 'Change address' }).click()
  await row.getByText(new URL(proxy.url).host).waitFor()
  await row.getByRole('button', { name: 'Remove second' }).click()
  await page.getByLabel('Type second to confirm').fill('second')
  await page.getByRole('button', { name: 'Remove host' }).click()
  await row.waitFor({ state: 'detached' })
})

test('the operator restores a user from a backup, and gives a user a new Master key', async (t) => {
  const folder = await newDataDir(t)
  await chmod(folder, 0o755)
  const house = await startEmbedded(t, { CARTAGE_BACKUP_DIR: folder })
  const alice = await house.newUser('alice')
  await alice.sql('create table t as select 1 as n')
  const file = join(folder, 'may.tar')
  assert.equal((await house.run('backup', file, '--without-secret')).code, 0)
  await chmod(file, 0o644)
  const { page, goTo } = await openAsOperator(t, house.process.url, house.adminToken)
  await goTo('/operator/backups')
  await page.getByRole('cell', { name: 'may.tar' }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByLabel('User in the backup').fill('alice')
  await page.getByLabel('Name of the new user').fill('alice')
  await page.getByRole('button', { name: 'Restore user' }).click()
  await page.getByRole('alert').getByText('already taken').waitFor()
  await page.getByLabel('Name of the new user').fill('alice2')
  await page.getByRole('button', { name: 'Restore user' }).click()
  await page.getByRole('link', { name: 'alice2' }).click({ timeout: 90_000 })

  await page.getByRole('button', { name: 'New Master key' }).click()
  await page.getByLabel('Type alice2 to confirm').fill('alice2')
  await page.getByLabel('Give all other keys new tokens too').check()
  await page.getByRole('button', { name: 'Replace Master key' }).click()
  await page.getByRole('button', { name: 'Copy: Master key of alice2' }).waitFor()
  const token = await page.getByRole('region', { name: 'Master key of alice2' }).innerText()
  assert.deepEqual((await house.clientOf('alice2', token.trim()).sql('select n from t')).rows, [{ n: 1 }])
})

test('the page of backups says so if the service sees none', async (t) => {
  const { url, keys } = await setup(t)
  const { page, goTo } = await openAsOperator(t, url, keys.adminToken)
  await goTo('/operator/backups')
  await page.getByText('The service sees no backups').waitFor()
})
