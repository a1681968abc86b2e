import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually, setup } from '../support/service/setup.ts'
import { ask, openReceiver, ranJob } from '../support/webhooks/receiver.ts'

const receiver = await openReceiver()
const house = (t: TestContext, webhooks: readonly string[]) =>
  setup(t, { worker: true, config: { webhooks } })

test('webhooks are off unless the operator allows them', async (t) => {
  const { user } = await house(t, [])
  const { url } = receiver.address()
  for (const [path, body] of [
    ['webhooks', { url }],
    ['jobs', { query: 'select 1', notify: [{ url }] }],
  ] as const) {
    const answer = await ask(user, 'POST', path, body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'webhooks-disabled'])
  }
})

test('with public, no private address and no other port can be a target, in any form', async (t) => {
  const { user } = await house(t, ['public'])
  for (const url of [
    receiver.address().url,
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[fe80::1]/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://192.168.1.1/',
    'http://0.0.0.0/',
    'http://example.org:8080/',
    'http://example.org:22/',
    'http://user:password@example.org/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
  ])
    assert.equal((await ask(user, 'POST', 'webhooks', { url })).body.code, 'webhook-invalid', url)
  for (const url of ['https://example.org/hook', 'http://93.184.216.34/'])
    assert.equal((await ask(user, 'POST', 'webhooks', { url })).status, 201, url)
})

test('a listed host is reached on its port only, and no other host is', async (t) => {
  const { user } = await house(t, [receiver.host, 'hooks.internal'])
  const hook = receiver.address()
  for (const [url, status] of [
    [hook.url, 201],
    [hook.url.replace(String(receiver.port), '80'), 400],
    [hook.url.replace('127.0.0.1', 'localhost'), 400],
    ['https://hooks.internal/', 201],
    ['https://hooks.internal:8443/', 400],
    ['https://x.hooks.internal/', 400],
    ['https://example.org/', 400],
  ] as const)
    assert.equal((await ask(user, 'POST', 'webhooks', { url })).status, status, url)
})

test('a name is resolved once, and its address is checked before anything is sent', async (t) => {
  const { user, service } = await house(t, ['public'])
  const resolved: string[] = []
  const { webhooks } = service.services
  // The second answer would lead to this machine.
  webhooks.network = {
    resolve: async (host) => {
      resolved.push(host)
      if (host === 'both.example')
        return [
          { address: '93.184.216.34', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ]
      return [{ address: resolved.length > 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }]
    },
  }
  t.after(() => {
    webhooks.network = undefined
  })
  const failureOf = async (host: string) => {
    await ranJob(user, 'select 1', { notify: [{ url: `http://${host}/` }] })
    return eventually(async () => {
      const { body } = await ask(user, 'GET', 'webhooks/deliveries')
      const found = body.deliveries.find(({ url }: { url: string }) => url.includes(host))
      assert.notEqual(found?.failure ?? null, null)
      return found.failure
    })
  }
  const refused = (host: string) => `${host} has no address that webhooks of this server may reach`
  assert.equal(await failureOf('inside.example'), refused('inside.example'))
  assert.deepEqual(resolved, ['inside.example'])
  assert.equal(await failureOf('both.example'), refused('both.example'))
  // A name without an address gives the same error.
  webhooks.network = { resolve: async () => Promise.reject(new Error('ENOTFOUND')) }
  assert.equal(await failureOf('nothing.example'), refused('nothing.example'))
})

test('a redirect is not followed', async (t) => {
  const { user } = await house(t, [receiver.host])
  const hook = receiver.address(() => 307)
  await ranJob(user, 'select 1', { notify: [{ url: hook.url }] })
  await hook.atLeast(1)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries')
    assert.deepEqual([body.deliveries[0].status, body.deliveries[0].response_status], ['pending', 307])
  })
})

test('only the status of an endless answer is read, and the connection is closed', async (t) => {
  const closed: string[] = []
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200)
    const talk = setInterval(() => response.write('x'.repeat(1_000)), 10)
    response.on('close', () => {
      clearInterval(talk)
      closed.push(request.url!)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const { user } = await house(t, [host])
  await ranJob(user, 'select 1', { notify: [{ url: `http://${host}/endless` }] })
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries')
    const [{ status, response_status, attempts }] = body.deliveries
    assert.deepEqual([status, response_status, attempts], ['delivered', 200, 1])
    assert.deepEqual(closed, ['/endless'])
  })
})
