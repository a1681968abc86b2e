import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, setup, type TestUser } from '../support/service/setup.ts'

test('a refused credential gets a hint beside the text that clients compare', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const token = user.masterToken
  for (const [headers, query, status, hint] of [
    [{ authorization: `Bearer ${token}` }, '', 401, /^Bearer is not a scheme here\. Send/],
    [{ authorization: token }, '', 401, /^Send "Authorization: Basic"/],
    [{ authorization: 'Basic %%%' }, '', 401, /^The Authorization header cannot be read/],
    [{}, `&api_key=${token.slice(0, -1)}`, 401, /^The token is damaged/],
    [{}, `&api_key=${token.replace('cartage_', 'cartage_x')}`, 401, /^The token is damaged/],
    [{}, `&api_key=${other.masterToken}`, 401, /^No key of this account has this token$/],
    [{}, '&api_key=an-old-token', 401, /^No key of this account has this token$/],
    [{}, '&api_key=a&api_key=b', 401, /^api_key must be one text/],
    [basic(other.username, token), '', 403, /^The user name in the Basic header/],
  ] as const) {
    const answer = await ask(user, query, headers)
    assert.equal(answer.status, status, query)
    assert.deepEqual(answer.body.error, [status === 401 ? 'Unauthorized' : 'permission denied'])
    assert.match(answer.body.hint!, hint)
    assert.equal(answer.hint, answer.body.hint)
    assert.ok(!JSON.stringify(answer).includes(token), 'the token is shown')
    // Clients compare the whole text of the key endpoints, so there the hint is only in the header.
    const keys = await fetch(`${user.base}/api/v3/api_keys?${query}`, { headers })
    assert.deepEqual(await keys.json(), { errors: 'Unauthorized', errors_cause: null })
    assert.match(keys.headers.get('cartage-hint')!, hint)
  }
})

test('a credential in an unknown parameter runs as public, with a hint', async (t) => {
  const { user } = await setup(t)
  for (const name of [
    'apikey',
    'apiKey',
    'API_KEY',
    'api-key',
    'api_keys',
    'aip_key',
    'token',
    'access_token',
  ]) {
    const answer = await ask(user, `&${name}=${user.masterToken}`)
    assert.equal(answer.status, 200)
    assert.equal(answer.hint, `The parameter ${name} is not a credential: its name is api_key`)
  }
  const byHeader = await ask(user, '', { 'x-api-key': user.masterToken })
  assert.match(byHeader.hint!, /^The header x-api-key is not a credential/)
  const inBody = await fetch(`${user.base}/api/v2/sql/job`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'select 1', apikey: user.masterToken }),
  })
  assert.equal(inBody.status, 403)
  assert.match(((await inBody.json()) as { hint: string }).hint, /^The parameter apikey is not a credential/)
  await user.sql('create table secrets (x int)')
  const refused = await ask(user, `&apikey=${user.masterToken}`, {}, 'select * from secrets')
  assert.deepEqual([refused.status, refused.body.hint], [403, refused.hint])
  for (const query of ['', `&api_key=${user.masterToken}&token=x`]) {
    assert.equal((await ask(user, query)).hint, null)
  }
})

test('a job without a credential is refused with a hint, and so is a valid key that is not enough', async (t) => {
  const { user } = await setup(t)
  const read = async (query: string) =>
    (await (await fetch(`${user.base}/api/v2/sql/job/1${query}`)).json()) as { error: string[]; hint: string }
  const none = await read('')
  assert.deepEqual(none.error, ['permission denied'])
  assert.match(none.hint, /^The request has no credential/)
  assert.match((await read('?api_key=default_public')).hint, /^The key is valid, but/)
})

test('the admin API says how to send its token', async (t) => {
  const { url, keys } = await setup(t)
  const headers = basic('admin', keys.adminToken)
  const answer = (await (await fetch(`${url}/admin/v1/users`, { headers })).json()) as { hint: string }
  assert.match(answer.hint, /Authorization: Bearer/)
})

async function ask(user: TestUser, query: string, headers: Record<string, string> = {}, q = 'select 1') {
  const response = await fetch(`${user.base}/api/v2/sql?q=${encodeURIComponent(q)}${query}`, { headers })
  const body = (await response.json()) as { error?: string[]; hint?: string }
  return { status: response.status, hint: response.headers.get('cartage-hint'), body }
}
