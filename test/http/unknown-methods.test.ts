import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, setup } from '../support/service/setup.ts'

test('a wrong method is 405 with the allowed ones, in the error format of its endpoints', async (t) => {
  const { url, user, keys } = await setup(t)
  const told = async (method: string, target: string, headers: Record<string, string> = {}) => {
    const response = await fetch(target, { method, headers })
    return [response.status, response.headers.get('allow'), await response.text()]
  }
  const sqlSide = (method: string) =>
    JSON.stringify({ error: [`Method ${method} is not allowed here`], code: 'method-not-allowed' })
  const keySide = JSON.stringify({ errors: 'Method PATCH is not allowed here', errors_cause: null })
  const operator = { authorization: `Bearer ${keys.adminToken}` }
  for (const [method, target, allow, body] of [
    ['DELETE', `${user.base}/api/v2/sql`, 'GET, POST', sqlSide('DELETE')],
    ['GET', `${user.base}/api/v2/sql/copyfrom/`, 'POST', sqlSide('GET')],
    ['PUT', `${user.base}/api/v2/sql/copyto?q=x`, 'GET, HEAD, POST', sqlSide('PUT')],
    ['PUT', `${user.base}/api/v2/sql/job`, 'POST', sqlSide('PUT')],
    ['GET', `${user.base}/api/v2/sql/job`, 'POST', sqlSide('GET')],
    ['DELETE', `${user.base}/api/v4/jobs`, 'GET, HEAD, POST', sqlSide('DELETE')],
    ['POST', `${user.base}/api/v4/dashboards/d`, 'DELETE, GET, HEAD, PUT', sqlSide('POST')],
    ['POST', `${user.base}/api/v4/queries/q`, 'DELETE, GET, HEAD, PUT', sqlSide('POST')],
    ['POST', `${user.base}/api/v2/sql/job/1`, 'DELETE, GET, HEAD, PUT', sqlSide('POST')],
    ['PATCH', `${url}/u/${user.username}/api/v3/api_keys/a%2Fb`, 'DELETE, GET, HEAD', keySide],
    ['DELETE', `${url}/health/live`, 'GET, HEAD', sqlSide('DELETE')],
  ] as const) {
    const [status, allowed, text] = await told(method, target, basic(user.username, user.masterToken))
    assert.deepEqual([status, allowed], [405, allow], `${method} ${target}`)
    assert.equal(text, body)
  }
  assert.deepEqual((await told('PUT', `${url}/admin/v1/users`, operator)).slice(0, 2), [
    405,
    'GET, HEAD, POST',
  ])
})

test('no path exists besides the documented ones', async (t) => {
  const { url, user } = await setup(t)
  for (const path of [`${user.base}/api/v2/sql/jobs`, `${url}/user`]) {
    const response = await fetch(path, { headers: basic(user.username, user.masterToken) })
    assert.deepEqual([response.status, response.headers.get('allow')], [404, null], path)
  }
})

test('a wrong method is 405 with any body type: curl -T on copyfrom', async (t) => {
  const { user } = await setup(t)
  const bodies = [undefined, 'application/octet-stream', 'text/csv', 'application/json', 'nonsense']
  for (const path of ['/api/v2/sql/copyfrom?q=copy+t+from+stdin', '/api/v2/sql/copyto', '/api/v3/api_keys']) {
    for (const type of bodies) {
      const headers = { ...basic(user.username, user.masterToken), ...(type && { 'content-type': type }) }
      const body = type === undefined ? Buffer.from('1,one') : '1,one'
      const response = await fetch(`${user.base}${path}`, { method: 'PUT', headers, body })
      assert.equal(response.status, 405, `${path} ${type}`)
      assert.match(response.headers.get('allow')!, /POST/)
      assert.notEqual(response.headers.get('x-request-id'), null)
    }
  }
  const unknown = await fetch(`${user.base}/api/v2/nowhere`, { method: 'POST', body: Buffer.from('x') })
  assert.equal(unknown.status, 404)
})
