import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockUser } from '../../src/accounts/account-lock.ts'
import { createUser } from '../../src/accounts/create-user.ts'
import { deleteOrganization } from '../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { nextFreeId } from '../../src/accounts/free-ids.ts'
import { repairAccounts } from '../../src/accounts/repair-accounts.ts'
import { insertDraftUser } from '../../src/accounts/user-store.ts'
import { inTransaction } from '../../src/postgres/transaction.ts'
import { organizationOf } from '../support/keys/organization.ts'
import { scriptArgs } from '../support/service/script.ts'
import { randomName, type Setup, setup } from '../support/service/setup.ts'

test('repair completely removes a creation or deletion that was killed at any moment', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation } = house.service.services
  for (const act of ['user', 'organization', 'user-delete'] as const) {
    for (const [round, afterMs] of [0, 30, 60, 100, 150, 220].entries()) {
      const name = `${act}-${round}-${randomName('x')}`
      if (act === 'user-delete') await createUser(installation, { username: name })
      await killedAfter(house, act, name, afterMs)
      await eventuallyRepaired(house)
      await removeIfFinished(house, act, name)
    }
  }
  assert.deepEqual(await remains(house), [house.user.account.masterRole, house.user.account.publicRole])
})

test('a creation killed while it made spare roles leaves nothing that breaks the next members', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation } = house.service.services
  const organization = await organizationOf(house, 20)
  for (const [round, afterMs] of [0, 20, 40, 60, 90, 130].entries()) {
    const name = `member-${round}`
    await killedAfter(house, 'user', name, afterMs, [organization])
    await eventuallyRepaired(house)
    await removeIfFinished(house, 'user', name)
    // The spare roles are used up, or the next round would make none.
    const usernames = [0, 1, 2].map((number) => `after-${round}-${number}`)
    for (const username of usernames) await createUser(installation, { username, organization })
    for (const username of usernames) await deleteUser(installation, username)
  }
})

test('repair leaves an account alone that another process works on, also if that work ends meanwhile', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation } = house.service.services
  const removed: string[] = []
  for (let round = 0; round < 6; round++) {
    const username = randomName('busy')
    let isDone = false
    const creating = createUser(installation, { username }).finally(() => {
      isDone = true
    })
    while (!isDone) removed.push(...(await repairAccounts(installation)))
    await creating
    await deleteUser(installation, username)
  }
  assert.deepEqual(removed, [])
})

test('repair removes a draft that never got a role or a database', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation, databases } = house.service.services
  const username = randomName('draft')
  await inTransaction(databases.control, async (tx) =>
    insertDraftUser(tx, {
      id: await nextFreeId(installation, tx, 'users', 1),
      username,
      namespace: installation.namespace,
      organizationId: null,
      orgRole: null,
      databaseId: null,
      schema: 'public',
      hostId: 1,
      quotaBytes: 0,
    }),
  )
  assert.deepEqual(await repairAccounts(installation), [username])
  const { account } = await createUser(installation, { username })
  assert.equal(account.username, username)
  await deleteUser(installation, username)
})

/** Runs the command in its own process and kills it with SIGKILL after this time. */
async function killedAfter(
  house: Setup,
  act: string,
  name: string,
  afterMs: number,
  organization: readonly string[] = [],
): Promise<void> {
  const { namespace } = house.service.services.config
  const child = spawn(
    process.execPath,
    [
      ...scriptArgs('test/support/keys/killed-act.ts'),
      house.keys.adminUrl,
      house.keys.secret,
      namespace,
      act,
      name,
      ...organization,
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const exited = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exited])
  await sleep(afterMs)
  child.kill('SIGKILL')
  await exited
}

/** The lock of the killed process is free as soon as the server notices the lost connection. */
async function eventuallyRepaired(house: Setup): Promise<void> {
  const { installation, databases } = house.service.services
  for (let turn = 0; turn < 200; turn++) {
    await repairAccounts(installation)
    const { rowCount } = await databases.control.query(
      `select from cartage.users where state <> 'active' union all select from cartage.organizations where state <> 'active'`,
    )
    if (rowCount === 0) return
    await sleep(25)
  }
  assert.fail('an account was not repaired')
}

async function removeIfFinished(house: Setup, act: string, name: string): Promise<void> {
  const { installation, databases } = house.service.services
  const { rowCount } = await databases.control.query('select from cartage.account_names where name = $1', [
    name,
  ])
  if (rowCount === 0) return
  if (act === 'organization') await deleteOrganization(installation, name)
  else await deleteUser(installation, name)
}

async function remains(house: Setup): Promise<string[]> {
  const { namespace } = house.service.services.config
  const { rows } = await house.admin(
    `select rolname as name from pg_roles where rolname ~ $1
     union select datname from pg_database where datname ~ $1 order by 1`,
    [`^${namespace}_(u|o)[0-9]`],
  )
  return rows.map((row) => row.name)
}

test('a deletion waits while repair checks the account', async (t) => {
  const { service, createUser: newUser } = await setup(t)
  const { installation } = service.services
  const { account, username } = await newUser()
  const client = await installation.databases.control.connect()
  await lockUser(client, account.userId)
  const deleted = deleteUser(installation, username)
  await sleep(300)
  client.release(true)
  await deleted
})
