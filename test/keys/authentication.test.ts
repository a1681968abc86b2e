import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { type Answer, grantsOf, keysClient, send } from '../support/keys/keys-client.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'

/** Calls every key endpoint. */
const endpoints = (base: string, query: string, headers: Record<string, string> = {}) =>
  Promise.all(
    [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/Master'],
      ['DELETE', '/nope'],
      ['POST', '/nope/token/regenerate'],
    ].map(([method, path]) => send(`${base}/api/v3/api_keys${path}${query}`, { method: method!, headers })),
  )

function assertRefused(answers: readonly Answer[], status: number, text: string, what: string): void {
  for (const { status: actual, body, headers } of answers) {
    assert.equal(actual, status, what)
    assert.deepEqual(body, { errors: text, errors_cause: null }, what)
    if (status === 401) assert.match(headers.get('www-authenticate') ?? '', /^Basic realm="/, what)
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('without a valid credential every key endpoint is 401', async (t) => {
  const { user, createUser } = await setup(t)
  const stranger = await createUser()
  const cases: [what: string, query: string, authorization?: string][] = [
    ['no credential', ''],
    ['an empty api_key', '?api_key='],
    ['an unknown token', '?api_key=cartage_unknown'],
    ['the token of another account', `?api_key=${stranger.masterToken}`],
    ['two api_keys', `?api_key=${user.masterToken}&api_key=${user.masterToken}`],
    ['an unknown token by Basic', '', `Basic ${base64(`${user.username}:nope`)}`],
    ['another user name', '', `Basic ${base64(`${stranger.username}:${user.masterToken}`)}`],
    ['the stranger by Basic', '', `Basic ${base64(`${stranger.username}:${stranger.masterToken}`)}`],
    ['an empty password', '', `Basic ${base64(`${user.username}:`)}`],
    ['no colon', '', `Basic ${base64(user.masterToken)}`],
    ['not base64', '', 'Basic %%%'],
    ['loose base64', '', `Basic ${base64(`${user.username}:${user.masterToken}`)}=`],
    ['another scheme', '', `Bearer ${user.masterToken}`],
    ['an empty header', '', ' '],
    ['a wrong header beside a right parameter', `?api_key=${user.masterToken}`, `Basic ${base64('a:b')}`],
    ['a wrong parameter beside a right map_key', `?api_key=nope&map_key=${user.masterToken}`],
  ]
  for (const [what, query, authorization] of cases) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    assertRefused(await endpoints(user.base, query, headers), 401, 'Unauthorized', what)
  }
})

test('a key that is not master is 403 on every key endpoint', async (t) => {
  const { user } = await setup(t)
  const regular = await keysClient(user).make('k', grantsOf({}, ['public']))
  for (const token of ['default_public', regular.token]) {
    const text = "You don't have permission to access that resource"
    assertRefused(await endpoints(user.base, `?api_key=${token}`), 403, text, token)
    assertRefused(await endpoints(user.base, '', basic(user.username, token)), 403, text, token)
  }
})

test('the master key is read from the Basic header, api_key or map_key', async (t) => {
  const { user } = await setup(t)
  const list = `${user.base}/api/v3/api_keys`
  for (const answer of [
    await send(list, { headers: basic(user.username, user.masterToken) }),
    await send(list, {
      headers: { authorization: `basic ${base64(`${user.username}:${user.masterToken}`)}` },
    }),
    await send(`${list}?api_key=${user.masterToken}`),
    await send(`${list}?map_key=${user.masterToken}`),
    await send(`${list}?api_key=&map_key=${user.masterToken}`),
    await send(`${list}?api_key=nope`, { headers: basic(user.username, user.masterToken) }),
  ]) {
    assert.equal(answer.status, 200)
  }
})

test('an unknown account is 404 in the error format of the key endpoints', async (t) => {
  const { url } = await setup(t)
  const { status, body } = await send(`${url}/user/nobody-here/api/v3/api_keys?api_key=x`)
  assert.equal(status, 404)
  assert.equal(body.errors, "Sorry, we can't find the user 'nobody-here'")
  assert.equal(body.errors_cause, null)
})

async function organization(t: Parameters<typeof setup>[0]) {
  const context = await setup(t)
  const { name, owner } = await context.createOrganization()
  const admin = await context.createUser({ organization: name, isOrgAdmin: true })
  const member = await context.createUser({ organization: name })
  return { ...context, name, owner, admin, member, outsider: context.user }
}

test('in the path of an organization the credential names the acting user', async (t) => {
  const { url, name, owner, member, outsider } = await organization(t)
  const base = `${url}/user/${name}/api/v3/api_keys`
  for (const who of [owner, member]) {
    for (const answer of [
      await send(`${base}?api_key=${who.masterToken}`),
      await send(base, { headers: basic(who.username, who.masterToken) }),
    ]) {
      assert.equal(answer.status, 200)
      const [master] = answer.body.result as {
        token: string
        user: { username: string }
        _links: { self: string }
      }[]
      assert.deepEqual(master!.user, { username: who.username })
      assert.equal(master!.token, who.masterToken)
      assert.equal(new URL(master!._links.self).pathname, `/user/${name}/api/v3/api_keys/Master`)
    }
  }
  const made = await send(`${base}?api_key=${member.masterToken}`, {
    method: 'POST',
    body: { name: 'k', grants: [{ type: 'apis', apis: ['sql'] }] },
  })
  assert.equal(made.status, 201)
  assert.equal((await keysClient(member).read('k')).body.token, made.body.token)
  assert.equal((await send(`${base}?api_key=${made.body.token}`)).status, 403)
  for (const answer of [
    await send(base),
    await send(`${base}?api_key=default_public`),
    await send(`${base}?api_key=${outsider.masterToken}`),
    await send(base, { headers: basic(outsider.username, outsider.masterToken) }),
    await send(base, { headers: basic(name, owner.masterToken) }),
    await send(base, { headers: basic(owner.username, member.masterToken) }),
    await send(base, { headers: basic(owner.username, 'default_public') }),
  ]) {
    assert.equal(answer.status, 401)
  }
})

test('owner and admins of an organization may act on behalf of its members', async (t) => {
  const { owner, admin, member } = await organization(t)
  await member.sql('create table t (id serial)')
  for (const who of [owner, admin]) {
    const keys = keysClient(who)
    const target = `?target_user=${member.username}`
    const grants = [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables: [{ schema: member.username, name: 't', permissions: ['insert'] }] },
    ]
    const made = await keys.create('k', grants, target)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    assert.deepEqual(made.body.user, { username: member.username })
    assert.equal((await keys.read('k', target)).body.token, made.body.token)
    assert.equal((await keysClient(member).read('k')).body.token, made.body.token)
    assert.equal((await keys.read('k')).status, 404)
    const { body: list } = await keys.list(`${target}&type=regular`)
    const [listed] = list.result as { name: string; _links: { self: string } }[]
    assert.equal(
      (await send(listed!._links.self, { headers: basic(who.username, who.masterToken) })).status,
      200,
    )
    assert.equal((await keys.regenerate('k', target)).status, 200)
    assert.equal((await keys.remove('k', target)).status, 200)
  }
  const own = await keysClient(owner).list(`?target_user=${owner.username}`)
  assert.equal(own.status, 200)
})

test('target_user is 403 for everybody else, and 404 for a user who is no member', async (t) => {
  const { name, owner, admin, member, outsider } = await organization(t)
  const refused: [TestUser, string][] = [
    [member, owner.username],
    [member, member.username],
    [outsider, outsider.username],
    [outsider, member.username],
    [outsider, 'nobody'],
  ]
  for (const [who, target] of refused) {
    const { status, body } = await keysClient(who).list(`?target_user=${target}`)
    assert.equal(status, 403)
    assert.equal(body.errors, "You don't have permission to access that resource")
  }
  for (const target of [outsider.username, 'nobody', name, '', "x'; drop", '%00']) {
    const { status, body } = await keysClient(admin).list(`?target_user=${encodeURIComponent(target)}`)
    assert.equal(status, 404, target)
    assert.deepEqual(body, {
      errors: `User '${target}' not found in the organization '${name}'`,
      errors_cause: null,
    })
  }
})

test('no token appears in the log', async (t) => {
  const { user, keys, service } = await setup(t)
  const lines: string[] = []
  const log = createLog('trace', { write: (line: string) => void lines.push(line) })
  const told = await startService(service.services.config, keys, { http: true, worker: false }, log)
  t.after(() => told.stop())
  const here = { ...user, base: `${told.url}/user/${user.username}` }
  const made = await keysClient(here).make('k')
  await send(`${here.base}/api/v3/api_keys?api_key=${user.masterToken}`)
  await send(`${here.base}/api/v3/api_keys/%?api_key=${user.masterToken}`)
  await send(`${here.base}/api/v3/api_keys`, { method: 'POST', body: `{"api_key":"${user.masterToken}"` })
  const again = await keysClient(here).regenerate('k')
  await keysClient(here).remove('k')
  assert.ok(lines.some((line) => line.includes('/api/v3/api_keys')))
  for (const token of [user.masterToken, made.token, again.body.token]) {
    const forms = [token, base64(`${user.username}:${token}`)]
    assert.ok(!lines.some((line) => forms.some((form) => line.includes(form))))
  }
})
