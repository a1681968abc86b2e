import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { updateUser } from '../../src/accounts/update-user.ts'
import { AuditRefusals } from '../../src/audit/audit-refusals.ts'
import { type AuditRecord, cleanAudit, listAudit, recordAudit } from '../../src/audit/audit-store.ts'
import { AuditUses } from '../../src/audit/audit-uses.ts'
import { createAdminClient, createClient } from '../../src/client/client.ts'
import { createLog } from '../../src/log/log.ts'
import { cartage, installation } from '../support/http/call.ts'
import { basic, randomName, type Setup, setup } from '../support/service/setup.ts'

test('creating, changing and deleting a user is audited with the operator as actor', async (t) => {
  const bundle = await setup(t)
  const { installation } = bundle.service.services
  const { username } = bundle.user
  await updateUser(installation, username, { quotaBytes: 5_000 })
  await deleteUser(installation, username)
  const records = await auditOf(bundle, username)
  assert.deepEqual(
    records.map(({ actor, action, details }) => [actor, action, details.quota_in_bytes]),
    [
      ['operator', 'user.deleted', undefined],
      ['operator', 'user.changed', 5_000],
      ['operator', 'user.created', 0],
    ],
  )
})

test('organizations and their owners are audited', async (t) => {
  const bundle = await setup(t)
  const { name, owner } = await bundle.createOrganization()
  const [organization] = await auditOf(bundle, name)
  assert.deepEqual(
    [organization?.action, organization?.details],
    ['organization.created', { owner: owner.username }],
  )
  assert.equal((await auditOf(bundle, owner.username))[0]?.details.organization, name)
})

test('key changes are audited with the user whose key asked, never with a token', async (t) => {
  const bundle = await setup(t)
  const { name: organization, owner } = await bundle.createOrganization()
  const member = await bundle.createUser({ organization })
  const client = createClient({ baseUrl: bundle.url, username: owner.username, token: owner.masterToken })
  const target = { target_user: member.username }
  const grants = [{ type: 'apis', apis: ['sql'] }] as const
  const { token } = await client.keys.create({ name: 'k', grants }, target)
  await client.keys.regenerate('k', target)
  await client.keys.delete('k', target)
  client.close()
  const records = (await auditOf(bundle, member.username)).filter(({ subject }) => subject === 'k')
  assert.deepEqual(
    records.map(({ actor, action }) => [actor, action]),
    ['key.deleted', 'key.regenerated', 'key.created'].map((action) => [owner.username, action]),
  )
  assert.ok(!JSON.stringify(records).includes(token))
})

test("reading a member's tokens as owner or admin is audited, reading one's own is not", async (t) => {
  const bundle = await setup(t)
  const { name: organization, owner } = await bundle.createOrganization()
  const admin = await bundle.createUser({ organization, isOrgAdmin: true })
  const read = async (path: string) => {
    const headers = basic(admin.username, admin.masterToken)
    const answer = await fetch(`${admin.base}/api/v3/api_keys${path}`, { headers })
    assert.equal(answer.status, 200, path)
    return answer.text()
  }
  assert.match(await read(`?target_user=${owner.username}`), new RegExp(owner.masterToken))
  await read(`/Master?target_user=${owner.username}`)
  await read(`/Default%20public?target_user=${owner.username}`)
  await read('')
  const client = createClient({ baseUrl: bundle.url, username: owner.username, token: owner.masterToken })
  await client.keys.create({ name: 'k', grants: [{ type: 'apis', apis: ['sql'] }] })
  client.close()
  await read(`?target_user=${owner.username}`)
  const answer = await fetch(`${admin.base}/api/v4/keys/k?target_user=${owner.username}`, {
    method: 'PATCH',
    headers: { ...basic(admin.username, admin.masterToken), 'content-type': 'application/json' },
    body: JSON.stringify({ description: 'seen' }),
  })
  assert.equal(answer.status, 200, await answer.text())
  const shown = async (username: string) =>
    (await auditOf(bundle, username)).filter(({ action }) => action === 'key.shown')
  const records = await shown(owner.username)
  const address = '127.0.0.1'
  assert.deepEqual(
    records.map(({ actor, subject, details }) => [actor, subject, details]),
    [
      [admin.username, 'k', { address }],
      [admin.username, null, { address, count: 2, names: ['Master', 'k'] }],
      [admin.username, 'Master', { address }],
      [admin.username, 'Master', { address }],
    ],
  )
  assert.deepEqual(await shown(admin.username), [])
  assert.ok(!JSON.stringify(records).includes(owner.masterToken))
})

test("a client's own name is audited only if it is an account's, its address only if it is valid", async (t) => {
  const bundle = await setup(t, { isIsolated: true, config: { trustedProxies: '127.0.0.1' } })
  const { user, service, url } = bundle
  const { control } = service.services.databases
  const { rows } = await control.query<{ last: number }>('select max(id)::float8 as last from cartage.audit')
  const invented = [
    'x\n2026-01-01 operator user.deleted alice',
    user.masterToken,
    'a'.repeat(9_000),
    'cafe0123456789abcdef0123456789abcdef0123',
    '\u202eecila',
  ]
  for (const name of [...invented, user.username]) {
    for (const path of ['/api/v4/me', `/user/${user.username}/api/v3/api_keys`, '/admin/v1/users']) {
      await fetch(`${url}${path}`, {
        headers: {
          ...basic(name, 'not-the-token'),
          'x-forwarded-for': name === user.username ? '2001:db8::7' : `fe80::1%${'z'.repeat(5_000)}`,
        },
      })
    }
    const headers = { ...basic('a', 'b'), 'x-forwarded-for': `operator ${name.length}` }
    await fetch(`${url}/api/v4/me`, { headers })
  }
  await service.services.refusals.flush()
  const records = (await listAudit(control, { limit: 1_000 })).filter(({ id }) => id > rows[0]!.last)
  const told = (field: 'actor' | 'account') =>
    [...new Set(records.filter(isRefusal).map((record) => record[field]))].sort()
  assert.deepEqual(told('account'), ['/admin', '/me', user.username])
  assert.deepEqual(told('actor'), ['127.0.0.1', '2001:db8::7', 'fe80::1'])
})

const isRefusal = ({ action }: AuditRecord) => action === 'authentication.refused'

test('refused authentications are counted and audited with their address, without the token', async (t) => {
  const bundle = await setup(t)
  const { user, service, url } = bundle
  for (let n = 0; n < 3; n++) await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=not-the-token`)
  await fetch(`${user.base}/api/v2/sql?q=select+1`, { headers: basic('someone-else', user.masterToken) })
  await fetch(`${user.base}/api/v2/sql?q=select+1`)
  await fetch(`${url}/admin/v1/users`, { headers: { authorization: 'Bearer not-the-token' } })
  for (const version of ['v3', 'v4']) await fetch(`${url}/api/${version}/me?api_key=not-the-token`)
  await service.services.refusals.flush()
  const records = await auditOf(bundle, user.username)
  assert.deepEqual(
    records
      .filter(({ action }) => action === 'authentication.refused')
      .map(({ actor, details }) => [actor, details.reason, details.count]),
    [
      ['127.0.0.1', 'wrong-username', 1],
      ['127.0.0.1', 'wrong-credential', 3],
    ],
  )
  const [admin] = await auditOf(bundle, '/admin')
  assert.equal(admin?.action, 'authentication.refused')
  const [me] = await auditOf(bundle, '/me')
  assert.deepEqual([me?.action, me?.details.count], ['authentication.refused', 2])
  assert.ok(!JSON.stringify([...records, admin, me]).includes('not-the-token'))
})

test('a flood of refused authentications is audited in few rows', async (t) => {
  const bundle = await setup(t)
  const { control } = bundle.service.services.databases
  const refusals = new AuditRefusals(control, 365, createLog('silent'))
  const account = randomName('flooded')
  for (let n = 0; n < 10_000; n++) refusals.note({ account, address: `2001:db8::${n}`, reason: 'wrong' })
  await refusals.stop()
  const alone = await auditOf(bundle, account)
  // Twice as many if the hour changed meanwhile.
  assert.ok(alone.length === 200 || alone.length === 400, String(alone.length))
  const latest = await listAudit(control, { action: 'authentication.refused', limit: 1_000 })
  const together = latest.filter(({ actor, account: named }) => actor === 'many' && named === null)
  assert.ok(together.some(({ details }) => details.count === 10_000 - alone.length))
})

test('audit records cannot be changed, nor removed before their time', async (t) => {
  const bundle = await setup(t)
  const { control } = bundle.service.services.databases
  for (const change of [
    `update cartage.audit set actor = 'nobody'`,
    'delete from cartage.audit',
    'truncate cartage.audit',
  ]) {
    await assert.rejects(control.query(change), /append-only/, change)
  }
  const account = randomName('old')
  await recordAudit(control, { actor: 'operator', action: 'user.created', account })
  await control.query(
    `insert into cartage.audit (at, actor, action, account) values (now() - interval '40 days', 'operator', 'user.deleted', $1)`,
    [account],
  )
  await cleanAudit(control, 35)
  assert.deepEqual(
    (await auditOf(bundle, account)).map(({ action }) => action),
    ['user.created'],
  )
})

test('the old part of a long audit record is removed in short steps', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const { control } = bundle.service.services.databases
  await control.query(
    `insert into cartage.audit (at, actor, action, account)
     select now() - interval '400 days', 'operator', 'user.deleted', 'old' from generate_series(1, 5500)`,
  )
  assert.equal(await cleanAudit(control, 365), true)
  assert.equal((await auditOf(bundle, 'old')).length, 500)
  assert.equal(await cleanAudit(control, 365), false)
  assert.equal((await auditOf(bundle, 'old')).length, 0)
})

const auditOf = ({ service }: Setup, account: string) =>
  listAudit(service.services.databases.control, { account, limit: 1_000 })

test("a key is audited with its grants and the client's address, from creation to deletion", async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql('create table places (n int)')
  const client = createClient({ baseUrl: bundle.url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  const places = (permission: 'select' | 'insert') => ({
    schema: 'public',
    name: 'places',
    permissions: [permission],
  })
  const grants = (permission: 'select' | 'insert') => [
    { type: 'apis' as const, apis: ['sql' as const] },
    { type: 'database' as const, tables: [places(permission)] },
  ]
  const { token } = await client.keys.create({ name: 'k', grants: grants('select') })
  await client.keys.change('k', { grants: grants('insert') })
  await client.keys.delete('k')
  const records = await auditOf(bundle, user.username)
  const noted = (permission: 'select' | 'insert') => ({
    address: '127.0.0.1',
    apis: ['sql'],
    tables: [places(permission)],
    schemas: [],
  })
  assert.deepEqual(
    records
      .filter(({ subject }) => subject === 'k')
      .map(({ actor, action, details }) => [actor, action, details]),
    [
      [user.username, 'key.deleted', noted('insert')],
      [user.username, 'key.changed', noted('insert')],
      [user.username, 'key.created', noted('select')],
    ],
  )
  assert.ok(!JSON.stringify(records).includes(token))
})

test('the first use of a key each day is audited, in any process and even if the key is deleted', async (t) => {
  const bundle = await setup(t, { isIsolated: true, config: { trustedProxies: '127.0.0.1' } })
  const { user, service, admin } = bundle
  const { control } = service.services.databases
  const client = createClient({ baseUrl: bundle.url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  const { token } = await client.keys.create({ name: 'k', grants: [{ type: 'apis', apis: ['sql'] }] })
  const use = async (address: string) => {
    const query = new URLSearchParams({ q: 'select 1', api_key: token })
    const answer = await fetch(`${user.base}/api/v2/sql?${query}`, {
      headers: { 'x-forwarded-for': `6.6.6.6, ${address}` },
    })
    assert.equal(answer.status, 200)
  }
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) await use(address)
  await client.keys.delete('k')
  await service.services.keyUses.flush()
  const uses = async () => {
    const records = await auditOf(bundle, user.username)
    return records
      .filter(({ action }) => action === 'key.used')
      .map(({ actor, subject, details }) => [actor, subject, details.address])
      .toSorted()
  }
  const first = [
    [user.username, 'Master', '127.0.0.1'],
    [user.username, 'k', '192.0.2.1'],
  ]
  assert.deepEqual(await uses(), first)
  const again = async () => {
    const other = new AuditUses(control, createLog('silent'))
    const keyId = await masterKeyId(bundle)
    for (const address of ['192.0.2.4', '192.0.2.5'])
      other.note(keyId, () => ({ username: user.username, keyName: 'Master', address, apis: [] }))
    await other.stop()
  }
  await again()
  assert.deepEqual(await uses(), first)
  const { namespace } = service.services.config
  await admin('update cartage.key_uses set audited_on = audited_on - 1', [], namespace)
  await again()
  assert.deepEqual(await uses(), [first[0], [user.username, 'Master', '192.0.2.4'], first[1]])
})

async function masterKeyId({ service, user }: Setup): Promise<number> {
  const { rows } = await service.services.databases.control.query<{ id: number }>(
    `select id from cartage.api_keys where user_id = $1 and type = 'master'`,
    [user.account.userId],
  )
  return rows[0]!.id
}

test('audit records are read by user and time, and printed as lines of JSON and as CSV', async (t) => {
  const bundle = await setup(t)
  const { url, keys, user } = bundle
  const operator = createAdminClient({ baseUrl: url, token: keys.adminToken! })
  t.after(() => operator.close())
  await operator.users.change(user.username, { quota_in_bytes: 7 })
  const [newest, oldest] = await operator.audit({ user: user.username })
  assert.deepEqual([newest?.action, oldest?.action], ['user.changed', 'user.created'])
  const since = await operator.audit({ user: user.username, since: newest!.at })
  assert.deepEqual(
    since.map(({ id }) => id),
    [newest!.id],
  )
  await assert.rejects(operator.audit({ since: 'yesterday' }), { status: 400 })
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(installation(bundle), 'audit', '--user', user.username, ...args)
    assert.equal(code, 0, err)
    return out.trim().split('\n')
  }
  const lines = await run('--since', '1h', '--format', 'ndjson')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).action),
    ['user.changed', 'user.created'],
  )
  const [head, first] = await run('--format', 'csv')
  assert.equal(head, 'id,at,actor,action,account,subject,details')
  assert.ok(first!.endsWith('"{""quota_in_bytes"":7}"'), first)
  assert.equal((await cartage(installation(bundle), 'audit', '--since', 'soon')).code, 2)
  const { control } = bundle.service.services.databases
  const subject = 'a\u001b[2J\u202e\u2028\nb'
  await recordAudit(control, {
    actor: user.username,
    action: 'table.dropped',
    account: user.username,
    subject,
  })
  const [line] = await run()
  assert.ok(line!.endsWith('  a\\x1b[2J\\u202e\\u2028\\nb'), line)
})
