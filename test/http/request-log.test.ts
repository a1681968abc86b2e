import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { basic, eventually, setup } from '../support/service/setup.ts'

/** Starts a process whose log the test reads. */
async function logged(t: TestContext) {
  const house = await setup(t)
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const service = await startService(
    house.service.services.config,
    house.keys,
    { http: true, worker: false },
    log,
  )
  t.after(() => service.stop())
  const requests = (count: number) =>
    eventually(() => {
      const found = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
      assert.equal(found.length, count)
      return found as { status: number; address?: string; user?: string; key?: string }[]
    })
  return { house, lines, requests, base: `${service.url}/user/${house.user.username}` }
}

test("the log line of a request has the client's address, the user and the name of the key", async (t) => {
  const { house, lines, requests, base } = await logged(t)
  const { user } = house
  const { token } = await keysClient(user).make('night shift', grantsOf({}, []))
  const ask = (credential: Record<string, string>) =>
    fetch(`${base}/api/v2/sql?${new URLSearchParams({ q: 'select 1', ...credential })}`)
  await ask({ api_key: user.masterToken })
  await ask({ api_key: token })
  await ask({})
  await ask({ api_key: 'default_public' })
  const told = (await requests(4)).map(({ status, address, user: who, key }) => [status, address, who, key])
  const address = '127.0.0.1'
  assert.deepEqual(told, [
    [200, address, user.username, 'Master'],
    [200, address, user.username, 'night shift'],
    [200, address, user.username, undefined],
    [200, address, user.username, 'Default public'],
  ])
  assert.ok(!lines.join('').includes(user.masterToken) && !lines.join('').includes(token))
})

test('the log line of a refused credential has them too, and no log line has an unknown name', async (t) => {
  const { house, lines, requests, base } = await logged(t)
  const { user } = house
  const secret = 'this-may-be-a-token'
  await fetch(`${base}/api/v2/sql?q=select+1&api_key=${secret}`)
  await fetch(`${base}/api/v2/sql/job/1`, { headers: basic('somebody', secret) })
  await fetch(`${base}/api/v3/api_keys`, { headers: basic(user.username, secret) })
  await fetch(`${base.replace(user.username, secret)}/api/v2/sql?q=select+1`)
  const told = (await requests(4)).map(({ status, address, user: who, key }) => [status, address, who, key])
  assert.deepEqual(told, [
    [401, '127.0.0.1', user.username, undefined],
    [401, '127.0.0.1', user.username, undefined],
    [401, '127.0.0.1', user.username, undefined],
    [404, '127.0.0.1', undefined, undefined],
  ])
  assert.doesNotMatch(lines.join(''), /this-may-be-a-token|somebody/)
})

test('no log line of a request for a map has a token, of a key or a viewer, valid or not, wherever it was sent', async (t) => {
  const { house, lines, requests, base } = await logged(t)
  const { user } = house
  const [viewer, wrong] = ['viewer-secret-1', 'wrong-secret-2']
  const key = user.masterToken
  const layers = [{ options: { sql: 'select null::geometry as the_geom_webmercator' } }]
  const auth = { method: 'token', valid_tokens: [viewer] }
  const named = { version: '0.0.1', name: 'shops', auth, layergroup: { layers } }
  const inside = { layers: [{ type: 'named', options: { name: 'shops', auth_tokens: [wrong] } }] }
  const post = (path: string, body: unknown) =>
    fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const config = (text: unknown) => encodeURIComponent(JSON.stringify(text))
  const made = await post(`/api/v1/map?api_key=${key}`, { layers })
  const { layergroupid } = (await made.json()) as { layergroupid: string }
  const sent = [
    await post('/api/v1/map', { layers, api_key: key }),
    await post('/api/v1/map', { layers, api_key: wrong }),
    await post(`/api/v1/map?map_key=${key}`, inside),
    await post(`/api/v1/map/named?api_key=${key}`, named),
    await post(`/api/v1/map/named/shops?auth_token=${viewer}`, {}),
    await post(`/api/v1/map/named/shops?auth_token[]=${wrong}`, {}),
  ]
  const paths = [
    `/api/v1/map?config=${config({ layers, api_key: key })}`,
    `/api/v1/map?callback=f&config=${config(inside)}`,
    `/api/v1/map/${layergroupid}/0/0/0.mvt?api_key=${key}`,
    `/api/v1/map/${layergroupid}:${wrong}/0/0/0.mvt?map_key=${wrong}`,
    `/api/v1/map/named/shops/all/0/0/0.mvt?auth_token=${viewer}`,
    `/api/v1/map/named/shops/jsonp?callback=f&auth_token=${wrong}`,
    `/api/v1/map/named/shops/tiles.json?auth_token=${viewer}`,
    `/map/shops.json?auth_token=${wrong}`,
    `/map/shops?auth_token=${viewer}`,
    `/api/v1/tiles/none/0/0/0?api_key=${key}`,
    `/carto/sql?source=select+1&api_key=${key}`,
  ]
  for (const path of paths) sent.push(await fetch(`${base}${path}`))
  await requests(1 + sent.length)
  assert.ok(sent.some(({ status }) => status === 200) && sent.some(({ status }) => status === 403))
  for (const token of [key, viewer, wrong]) assert.ok(!lines.join('').includes(token), lines.join(''))
})

test("behind a trusted proxy the address in the log is the client's", async (t) => {
  const house = await setup(t)
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const config = { ...house.service.services.config, trustedProxies: '127.0.0.1' }
  const service = await startService(config, house.keys, { http: true, worker: false }, log)
  t.after(() => service.stop())
  await fetch(`${service.url}/health/live`, { headers: { 'x-forwarded-for': '203.0.113.7' } })
  await eventually(() => assert.match(lines.join(''), /"address":"203\.0\.113\.7"/))
})

test('no log line has the secret of a link, valid or not', async (t) => {
  const { house, lines, requests, base } = await logged(t)
  const body = JSON.stringify({ q: 'select 1 as n' })
  const headers = { 'content-type': 'application/json' }
  const made = await fetch(`${base}/api/v4/exports?api_key=${house.user.masterToken}`, {
    method: 'POST',
    headers,
    body,
  })
  const { url } = (await made.json()) as { url: string }
  const secret = url.split('/').at(-1)!
  await fetch(url)
  await fetch(url, { method: 'DELETE' })
  await fetch(`${url}/more`)
  await requests(4)
  assert.ok(secret.length > 20 && !lines.join('').includes(secret), lines.join(''))
})
