import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganization } from '../../src/accounts/create-organization.ts'
import { createUser } from '../../src/accounts/create-user.ts'
import { deleteOrganization } from '../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { repairAccounts } from '../../src/accounts/repair-accounts.ts'
import type { Account } from '../../src/auth/account.ts'
import type { Installation as Opened } from '../../src/hosts/installation.ts'
import { runSql, withDatabase } from '../support/runner/namespace.ts'
import { type Installation, newInstallation } from '../support/service/installation.ts'

// The state after a restore or a fail-over to an older replica, while the tenants on another host are complete.
test('creating accounts does not damage those that a restored control database no longer knows', async (t) => {
  const installation = await newInstallation(t)
  const control = await settableControl(installation)
  const organization = await acting(installation, async (accounts) => {
    await createOrganization(accounts, { name: 'early', owner: { username: 'owner' } })
    for (let count = 1; count < 20; count++)
      await createUser(accounts, { username: `member-${count}`, organization: 'early' })
    return 'early'
  })
  await control.keep()
  const forgotten = await acting(installation, async (accounts) => {
    const late = await createOrganization(accounts, { name: 'late', owner: { username: 'late-owner' } })
    const users = [{ username: 'alone' }]
    const members = ['on-spare', 'member', 'other'].map((username) => ({ username, organization }))
    const made = [late.owner.account]
    for (const request of [...users, ...members]) made.push((await createUser(accounts, request)).account)
    return made
  })
  for (const account of forgotten) await leaveData(installation, account)
  await control.setBack()

  await acting(installation, async (accounts) => {
    await t.test('their ids are not used again', async () => {
      for (const username of ['new-1', 'new-2', 'new-3', 'new-4'])
        await createUser(accounts, { username, organization })
      await createUser(accounts, { username: 'new-alone' })
      await createOrganization(accounts, { name: 'new', owner: { username: 'new-owner' } })
      await assertAllThere(installation, forgotten)
    })

    await t.test('creating a member of the same name is refused and harms nothing', async () => {
      await assert.rejects(createUser(accounts, { username: 'member', organization }), {
        code: 'account-taken',
      })
      await assertAllThere(installation, forgotten)
    })

    for (const username of ['new-1', 'new-2', 'new-3', 'new-4', 'new-alone'])
      await deleteUser(accounts, username)
    await deleteOrganization(accounts, 'new')
    await assertAllThere(installation, forgotten)
  })
  await control.setForward()
})

test('repair keeps a half-made account that has tables, as found after a restore to the time of its creation', async (t) => {
  const installation = await newInstallation(t)
  await acting(installation, async (accounts) => {
    const organization = 'all'
    await createOrganization(accounts, { name: organization, owner: { username: 'owner' } })
    const { account: member } = await createUser(accounts, { username: 'member', organization })
    const { account: alone } = await createUser(accounts, { username: 'alone' })
    await createUser(accounts, { username: 'empty' })
    for (const account of [member, alone]) await leaveData(installation, account)
    const { control } = accounts.databases

    await control.query(`update cartage.users set state = 'creating' where username <> 'owner'`)
    assert.deepEqual(await repairAccounts(accounts), ['empty'])
    await control.query(`update cartage.organizations set state = 'creating'`)
    assert.deepEqual(await repairAccounts(accounts), [])
    await assertAllThere(installation, [member, alone])

    await deleteUser(accounts, alone.username)
    await inDatabase(installation, member, `drop table ${member.schema}.data`)
    assert.deepEqual(await repairAccounts(accounts), [organization])
  })
})

/** Runs the command in its own process, which ends before the control database is changed under it. */
async function acting<T>(installation: Installation, act: (accounts: Opened) => Promise<T>): Promise<T> {
  const service = await installation.start({ parts: { http: false } })
  try {
    return await act(service.services.installation)
  } finally {
    await service.stop()
  }
}

async function settableControl({ config, keys }: Installation) {
  const run = (text: string) => runSql({ connectionString: keys.adminUrl }, text)
  const [now, earlier, later] = [config.namespace, `${config.namespace}_earlier`, `${config.namespace}_later`]
  return {
    keep: async () => {
      await run(`create database ${earlier} template ${now}`)
      // The doctor of another test reports databases that any role may enter.
      await run(`revoke connect on database ${earlier} from public`)
    },
    setBack: async () => {
      await run(`alter database ${now} rename to ${later}`)
      await run(`alter database ${earlier} rename to ${now}`)
    },
    setForward: async () => {
      await run(`drop database ${now}`)
      await run(`alter database ${later} rename to ${now}`)
    },
  }
}

const inDatabase = ({ keys }: Installation, { database }: Account, text: string) =>
  runSql({ connectionString: withDatabase(keys.adminUrl, database) }, text)

async function leaveData(installation: Installation, account: Account): Promise<void> {
  const table = `"${account.schema}".data`
  await inDatabase(
    installation,
    account,
    `create table ${table} (); alter table ${table} owner to ${account.masterRole}`,
  )
}

async function assertAllThere(installation: Installation, accounts: readonly Account[]): Promise<void> {
  for (const account of accounts) {
    const { rows } = await inDatabase(
      installation,
      account,
      `select c.relowner::regrole::text as owner, r.rolcanlogin as "canLogIn",
         exists (select from cartage.accounts where username = '${account.username}') as "isKnown"
       from pg_class c join pg_roles r on r.oid = c.relowner
       where c.relname = 'data' and c.relnamespace::regnamespace::text = quote_ident('${account.schema}')`,
    )
    assert.deepEqual(rows, [{ owner: account.masterRole, canLogIn: true, isKnown: true }], account.username)
  }
}
