import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf } from '../../src/cli/option-values.ts'
import { describeSize } from '../../src/contract/text/sizes.ts'
import { addressOf } from '../../src/postgres/hosts.ts'
import { cartage, installation, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('a user is shown with its limits and host, and on request its master key, which can be replaced', async (t) => {
  const house = await setup(t)
  const { username, masterToken, base } = house.user
  const operator = installation(house)
  const set = await cartage(
    operator,
    'user',
    'set',
    username,
    '--quota',
    '1.5GB',
    '--keys',
    '7',
    '--rate',
    'sql=100/60',
    '--schedules',
    '250',
  )
  assert.equal(set.code, 0, set.err)
  const shown = await cartage(operator, 'user', 'show', username)
  assert.ok(!shown.out.includes(masterToken))
  for (const line of [
    'quota         1536 MB',
    'keys          at most 7',
    'rates         sql=100/60',
    'schedules     250',
  ])
    assert.ok(shown.out.includes(`${line}\n`), shown.out)
  const freed = await cartage(operator, 'user', 'set', username, '--keys', '0')
  assert.ok(freed.out.includes('keys          unlimited\n'), freed.out)
  assert.ok(freed.out.includes('schedules     250\n'), freed.out)
  const usual = await cartage(operator, 'user', 'set', username, '--schedules', 'default')
  assert.ok(usual.out.includes('schedules     100\n') && usual.out.includes('sql=100/60\n'), usual.out)
  const host = house.service.services.databases.hosts.get(house.user.account.hostId)
  assert.ok(shown.out.includes(`host          local (${addressOf(host)})\n`), shown.out)
  assert.ok(
    (await cartage(operator, 'user', 'show', username, '--key')).out.includes(
      `master key    ${masterToken}\n`,
    ),
  )
  const reset = await cartage(operator, 'user', 'reset-key', username, '--json')
  const { api_key } = JSON.parse(reset.out)
  const status = async (key: string) => (await fetch(`${base}/api/v2/sql?q=select+1&api_key=${key}`)).status
  assert.deepEqual([await status(masterToken), await status(api_key)], [401, 200])
  const audit = await cartage(operator, 'audit', '--account', username, '--json')
  const actions: string[] = JSON.parse(audit.out).records.map(({ action }: { action: string }) => action)
  const changes = actions.filter((action) => !['authentication.refused', 'key.used'].includes(action))
  assert.deepEqual(changes.slice(0, 3), ['key.regenerated', 'key.shown', 'user.changed'])
})

test('on a terminal the command asks before it deletes a user', async (t) => {
  const house = await setup(t)
  const { username } = house.user
  const answering = async (typed: string) => {
    const terminal = inTerminal(t, installation(house), shellLine('user', 'delete', username))
    await eventually(() => assert.match(terminal.shown(), /to delete it: /), 60_000)
    terminal.type(`${typed}\n`)
    await terminal.ended
    return terminal.shown()
  }
  const refused = await answering('something else')
  const question = `This deletes the user ${username} and all its data. Type ${username} to delete it: `
  assert.ok(refused.includes(question), refused)
  assert.match(refused, /nothing was changed/)
  assert.equal((await cartage(installation(house), 'user', 'show', username)).code, 0)
  assert.match(await answering(username), new RegExp(`deleted user ${username}`))
})

test('neither the first host nor one with users can be removed; an empty one can', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { installation: opened, databases } = house.service.services
  const sealed = opened.secrets.seal('postgres://nobody@127.0.0.1:9/postgres')
  await databases.control.query(`insert into cartage.hosts (name, sealed_url) values ('far', $1)`, [sealed])
  await databases.control.query('notify cartage_accounts')
  await eventually(() => assert.equal(databases.hosts.all().length, 2))
  const listed = await cartage(installation(house), 'host', 'list')
  assert.match(listed.out, /\nfar \(0 databases\) at 127\.0\.0\.1:9\n$/)
  assert.match((await cartage(installation(house), 'user', 'list')).out, / on local\n/)
  const first = await cartage(installation(house), 'host', 'remove', 'local')
  assert.deepEqual([first.code, first.err], [1, "cartage: The host 'local' holds the control database\n"])
  await databases.control.query(
    `insert into cartage.databases (host_id, name) select id, 'x' from cartage.hosts where name = 'far'`,
  )
  assert.match((await cartage(installation(house), 'host', 'remove', 'far')).err, /has 1 databases of users/)
  await databases.control.query(`delete from cartage.databases where name = 'x'`)
  assert.equal((await cartage(installation(house), 'host', 'remove', 'far')).out, 'removed host far\n')
  await eventually(() => assert.equal(databases.hosts.all().length, 1))
})

test('sizes are read and shown as people write them', () => {
  const size = (text: string) => bytesOf({ quota: text }, 'quota')
  assert.deepEqual(['0', 'unlimited', '5000000', '1kB', '500MB', '1GB', '1.5 GiB', '2T', '10b'].map(size), [
    0,
    0,
    5_000_000,
    1024,
    500 * 1024 ** 2,
    1024 ** 3,
    1.5 * 1024 ** 3,
    2 * 1024 ** 4,
    10,
  ])
  for (const wrong of ['', '1.5', '-1', '1e9', '1XB', 'GB', '99999999TB'])
    assert.throws(() => size(wrong), wrong)
  assert.deepEqual([1024 ** 3, 1.5 * 1024 ** 3, 5_000_001].map(describeSize), [
    '1 GB',
    '1536 MB',
    '5000001 bytes',
  ])
})
