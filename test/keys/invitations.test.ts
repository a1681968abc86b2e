import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdminClient } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const reading = [{ type: 'apis', apis: ['sql'] }] as const
const day = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * day).toISOString()

/** Accepts an invitation without a key. */
async function accept(user: TestUser, invitation: unknown) {
  const response = await fetch(`${user.base}/api/v4/invitations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ invitation }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

const sqlStatus = async ({ base }: TestUser, token: string) =>
  (await fetch(`${base}/api/v2/sql?${new URLSearchParams({ q: 'select 1', api_key: token })}`)).status

test('a link gives its receiver the key with a new token, once, and the previous token ends', async (t) => {
  const house = await setup(t)
  const { user } = house
  const { keys } = clientOf(t, house)
  const { token: before } = await keys.createFull({ name: 'ana', grants: reading })
  const { invitation, url, expires_at } = await keys.invite('ana')
  assert.equal(url, `${new URL(user.base).origin}/console/invitation/${user.username}#${invitation}`)
  assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 7 * day) < 60_000, expires_at)
  assert.equal((await keys.details('ana')).invited_until, expires_at)
  assert.equal((await keys.listFull()).keys.find(({ name }) => name === 'ana')!.invited_until, expires_at)
  assert.equal(await sqlStatus(user, before), 200)

  const { status, headers, body } = await accept(user, invitation)
  assert.equal(status, 200, JSON.stringify(body))
  assert.match(headers.get('cache-control')!, /no-store/)
  assert.deepEqual([body.name, body.user.username, body.invited_until], ['ana', user.username, null])
  assert.equal(await sqlStatus(user, body.token), 200)
  assert.equal(await sqlStatus(user, before), 401)

  const again = await accept(user, invitation)
  assert.deepEqual([again.status, again.body.code], [404, 'invitation-unknown'])
})

test('of concurrent requests with one link, one gets the key', async (t) => {
  const house = await setup(t)
  const { user } = house
  const { keys } = clientOf(t, house)
  await keys.createFull({ name: 'ana', grants: reading })
  const { invitation } = await keys.invite('ana')
  const answers = await Promise.all(Array.from({ length: 6 }, () => accept(user, invitation)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404, 404, 404])
})

test('a link that was replaced, withdrawn, expired, or whose key was regenerated or deleted gives nothing', async (t) => {
  const house = await setup(t)
  const { user, admin, service, createUser } = house
  const { keys } = clientOf(t, house)
  await keys.createFull({ name: 'ana', grants: reading })
  const first = await keys.invite('ana')
  const second = await keys.invite('ana', { expires_at: inDays(1) })
  assert.equal((await accept(user, first.invitation)).status, 404)
  await keys.withdrawInvitation('ana')
  assert.equal((await accept(user, second.invitation)).status, 404)
  await assert.rejects(keys.withdrawInvitation('ana'), { code: 'invitation-unknown' })

  const third = await keys.invite('ana')
  assert.equal((await accept(await createUser(), third.invitation)).status, 404, 'of another account')
  const past = `update cartage.api_keys set invited_until = now() - interval '1 second' where name = 'ana'`
  await admin(past, [], service.services.config.namespace)
  assert.equal((await accept(user, third.invitation)).status, 404)

  const leaked = await keys.invite('ana')
  await keys.regenerate('ana')
  assert.equal((await accept(user, leaked.invitation)).status, 404, 'the owner has made a new token')

  const fourth = await keys.invite('ana')
  await keys.delete('ana')
  assert.equal((await accept(user, fourth.invitation)).status, 404)
})

test('only the master key invites, only to regular keys, for at most 30 days', async (t) => {
  const house = await setup(t)
  const { user } = house
  const { keys } = clientOf(t, house)
  const { token } = await keys.createFull({ name: 'ana', grants: reading })
  const asAna = clientOf(t, house, { token }).keys
  await assert.rejects(asAna.invite('ana'), { status: 403 })
  await assert.rejects(asAna.withdrawInvitation('ana'), { status: 403 })
  await assert.rejects(keys.invite('nobody'), { status: 404 })
  for (const name of ['Master', 'Default public'])
    await assert.rejects(keys.invite(name), { status: 422, message: /Only a regular key/ })
  for (const expires_at of [inDays(31), inDays(-1)])
    await assert.rejects(keys.invite('ana', { expires_at }), { message: /within the next 30 days/ })
  await assert.rejects(keys.invite('ana', { expires_at: 'soon' }), { status: 422, message: /must be a time/ })
  for (const wrong of [undefined, null, 1, '', 'x'.repeat(101), ['x']])
    assert.equal((await accept(user, wrong)).status, 400)
  assert.equal((await accept(user, 'x')).status, 404)
})

test('invitations are audited, and a suspended account gives out no key', async (t) => {
  const house = await setup(t)
  const { user, url, keys: installed } = house
  const { keys } = clientOf(t, house)
  const operator = createAdminClient({ baseUrl: url, token: installed.adminToken! })
  await keys.createFull({ name: 'ana', grants: reading })
  await keys.invite('ana')
  await keys.withdrawInvitation('ana')
  const { invitation } = await keys.invite('ana')
  await operator.users.suspend(user.username, 'not paid')
  const suspended = await accept(user, invitation)
  assert.deepEqual([suspended.status, suspended.body.code], [403, 'account-suspended'])
  await operator.users.resume(user.username)
  assert.equal((await accept(user, invitation)).status, 200)
  const records = await operator.audit({ account: user.username })
  const noted = records
    .filter(({ action }) => /invit/.test(action))
    .map(({ action, actor }) => [action, actor])
  assert.deepEqual(noted.reverse(), [
    ['key.invited', user.username],
    ['key.invitation-withdrawn', user.username],
    ['key.invited', user.username],
    ['key.invitation-accepted', user.username],
  ])
  assert.ok(!JSON.stringify(records).includes(invitation))
})
