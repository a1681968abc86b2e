import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { updateUser } from '../../src/accounts/update-user.ts'
import { Directory } from '../../src/auth/directory.ts'
import { createLog } from '../../src/log/log.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a change is known to every process once it is answered', async (t) => {
  const house = await setup(t)
  const { installation } = house.service.services
  const nodes = await Promise.all([1, 2, 3].map(() => anotherNode(t, house)))
  for (let quota = 1; quota <= 30; quota++) {
    for (const node of nodes) await node.findAccount(house.user.username)
    await updateUser(installation, house.user.username, { quotaBytes: quota })
    for (const node of nodes) {
      const found = await node.findAccount(house.user.username)
      assert.equal(found?.kind === 'user' && found.account.quotaBytes, quota)
    }
  }
})

test('a deleted user is unknown to every process at once', async (t) => {
  const house = await setup(t)
  const node = await anotherNode(t, house)
  const user = await house.createUser()
  assert.ok(await node.findAccount(user.username))
  await deleteUser(house.service.services.installation, user.username)
  assert.equal(await node.findAccount(user.username), undefined)
})

test('without its LISTEN connection the cache is not trusted, and the connection comes back by itself', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation, config, databases } = house.service.services
  const node = await anotherNode(t, house)
  await node.findAccount(house.user.username)
  await house.admin(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1 and query ilike '%cache_leases%'`,
    [config.namespace],
  )
  // There was no notification: only a query in the database can show it.
  await eventually(async () => {
    await databases.control.query('update cartage.users set quota_in_bytes = 77 where username = $1', [
      house.user.username,
    ])
    const found = await node.findAccount(house.user.username)
    assert.equal(found?.kind === 'user' && found.account.quotaBytes, 77)
  })
  await updateUser(installation, house.user.username, { quotaBytes: 78 })
  const found = await node.findAccount(house.user.username)
  assert.equal(found?.kind === 'user' && found.account.quotaBytes, 78)
})

async function anotherNode(t: Parameters<typeof setup>[0], house: Setup): Promise<Directory> {
  const { databases, secrets } = house.service.services
  const node = new Directory(databases.control, secrets, createLog('silent'))
  await node.start()
  t.after(() => node.stop())
  return node
}
