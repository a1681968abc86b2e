import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, setup } from '../support/service/setup.ts'

const origin = 'https://maps.example.org'
const paths = [
  '/api/v3/api_keys',
  '/api/v3/api_keys/some%2Fkey/token/regenerate',
  '/api/v2/sql',
  '/api/v2/sql/job',
  '/api/v2/sql/job/7b9a6a52-9f1d-4a39-a8f0-0123456789ab',
  '/api/v2/sql/copyfrom',
  '/api/v2/sql/copyto',
  '/api/v1/viz/',
  '/api/v4/datasets',
]

test('a page of any origin may send any method with credentials to every path of an account', async (t) => {
  const { url, user } = await setup(t)
  for (const base of ['user', 'u']) {
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const response = await preflight(`${url}/${base}/${user.username}${path}`, method)
        const place = `${method} ${path}`
        assert.equal(response.status, 204, place)
        assert.equal(response.headers.get('access-control-allow-origin'), '*', place)
        assert.ok(listed(response, 'methods').includes(method.toLowerCase()), place)
        for (const header of ['authorization', 'content-type', 'idempotency-key']) {
          assert.ok(listed(response, 'headers').includes(header), `${place}: ${header}`)
        }
      }
    }
  }
})

test('the page may read all answers: successes, streams and refusals', async (t) => {
  const { user } = await setup(t)
  const asks: [number, string, Record<string, string>][] = [
    [200, '/api/v2/sql?q=select+1', basic(user.username, user.masterToken)],
    [200, '/api/v2/sql/copyto?q=copy+(select+1)+to+stdout', basic(user.username, user.masterToken)],
    [400, '/api/v2/sql', {}],
    [401, '/api/v3/api_keys', {}],
    [403, '/api/v2/sql/job/7b9a6a52-9f1d-4a39-a8f0-0123456789ab', {}],
    [404, '/api/v2/no/such/thing', {}],
  ]
  for (const [status, path, headers] of asks) {
    const response = await fetch(`${user.base}${path}`, { headers: { origin, ...headers } })
    await response.arrayBuffer()
    assert.equal(response.status, status, path)
    assert.equal(response.headers.get('access-control-allow-origin'), '*', path)
    const exposed = response.headers.get('access-control-expose-headers')?.toLowerCase() ?? ''
    for (const name of ['x-request-id', 'retry-after', 'carto-rate-limit-remaining', 'location']) {
      assert.ok(exposed.includes(name), `${path}: ${name}`)
    }
  }
})

test('an OPTIONS request that is no preflight is refused like any other wrong method', async (t) => {
  const { user } = await setup(t)
  const known = await fetch(`${user.base}/api/v2/sql`, { method: 'OPTIONS', headers: { origin } })
  assert.equal(known.status, 405)
  assert.equal(known.headers.get('allow'), 'GET, POST')
  assert.equal(known.headers.get('access-control-allow-origin'), '*')
  assert.equal((await fetch(`${user.base}/nowhere`, { method: 'OPTIONS' })).status, 404)
})

test('no page of another origin may use the admin API', async (t) => {
  const { url, keys } = await setup(t)
  const asked = await preflight(`${url}/admin/v1/users`, 'POST')
  assert.equal(asked.headers.get('access-control-allow-origin'), null)
  const response = await fetch(`${url}/admin/v1/users`, {
    headers: { origin, authorization: `Bearer ${keys.adminToken}` },
  })
  assert.equal(response.headers.get('access-control-allow-origin'), null)
})

function preflight(url: string, method: string): Promise<Response> {
  return fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    },
  })
}

function listed(response: Response, what: 'methods' | 'headers'): readonly string[] {
  const list = response.headers.get(`access-control-allow-${what}`) ?? ''
  return list.split(',').map((each) => each.trim().toLowerCase())
}
