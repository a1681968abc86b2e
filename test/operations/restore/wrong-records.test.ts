import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedSuperuser, newDataDir } from '../../support/service/data-dir.ts'
import { accountsOf, startEmbedded } from '../../support/service/embedded-service.ts'

test('a user of a backup with limits, grants or records that no API takes is refused, and no user is left', async (t) => {
  const { dataDir, newUser, run } = await startEmbedded(t)
  const usernames = ['alice', 'bob', 'carol', 'dave']
  for (const username of usernames) {
    const user = await newUser(username)
    await user.keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  }
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await control.query<{ role: string }>(
    `select master_role as role from cartage.users where username = 'carol'`,
  )
  await control.query(`update cartage.users set limits = '{"tea": 1}' where username = 'alice'`)
  const ofUser = 'where user_id = (select id from cartage.users where username = $1)'
  await control.query(`update cartage.api_keys set apis = '{sql,admin}' ${ofUser} and type = 'regular'`, [
    'bob',
  ])
  await control.query(
    `update cartage.api_keys set name = 'a' || chr(7) || 'b' ${ofUser} and type = 'regular'`,
    ['dave'],
  )
  const carols = await embeddedSuperuser(t, dataDir, rows[0]!.role)
  await carols.query(`update cartage.roles set services = '{coffee}' where key_type = 'regular'`)

  const file = join(await newDataDir(t), 'backup.tar')
  assert.equal((await run('backup', file, '--without-secret')).code, 0)
  const restored = async (username: string) => {
    const { code, err } = await run('restore', file, '--user', username, '--as', 'new')
    return `${code} ${err.split('\n').filter((line) => !/^cartage: (unpacking|copying)/.test(line))}`
  }
  const wrong = '^1 cartage: The backup has a wrong record of'
  assert.match(
    await restored('alice'),
    new RegExp(`${wrong} the user 'alice': limits has no member 'tea'; known: `),
  )
  assert.match(
    await restored('bob'),
    new RegExp(`${wrong} the key 'reader': apis must be a list of sql, maps`),
  )
  assert.match(
    await restored('carol'),
    new RegExp(`${wrong} the role '\\w+': services must be a list of geocoding, `),
  )
  assert.match(await restored('dave'), new RegExp(`${wrong} the key '.*': its name is none`))
  assert.deepEqual(await accountsOf(t, dataDir), usernames)
})
