import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUser, isMadeAfterAll } from '../../src/accounts/create-user.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { closeDraftOrganization } from '../../src/accounts/organization-store.ts'
import { inTransaction } from '../../src/postgres/transaction.ts'
import { newInstallation } from '../support/service/installation.ts'

test('after a lost answer an account counts as made only if it is active, not if repair has removed it', async (t) => {
  const service = await (await newInstallation(t)).start()
  const { installation } = service.services
  const { account } = await createUser(installation, { username: 'alice' })
  assert.equal(await isMadeAfterAll(installation, account), true)
  await deleteUser(installation, 'alice')
  assert.equal(await isMadeAfterAll(installation, account), false)
  assert.equal(
    await inTransaction(installation.databases.control, (tx) => closeDraftOrganization(tx, 1)),
    true,
  )
})
