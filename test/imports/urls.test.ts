import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { ImportDocument } from '../../src/contract/documents.ts'
import { isPublicAddress, type Network, publicNetwork } from '../../src/network/network.ts'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { eventually } from '../support/service/setup.ts'

const on = { importUrls: true, copyIdleMs: 2_000, importMaxBytes: 1_000_000 }

/** A file server, and a service that may reach it under any name but `elsewhere.test`. */
async function setupUrls(t: TestContext, answer: RequestListener) {
  const house = await setupImports(t, on)
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    return answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const resolved: string[] = []
  const network: Network = {
    resolve: async (host) => {
      resolved.push(host)
      const address = host === 'elsewhere.test' ? '10.0.0.1' : '127.0.0.1'
      return [{ address, family: 4 }]
    },
    mayConnect: (address, to) => address === '127.0.0.1' && to === port,
  }
  const { imports } = house.service.services
  imports.network = network
  t.after(() => {
    imports.network = publicNetwork
    server.closeAllConnections()
    server.close()
  })
  const post = async (url: string, fields: Record<string, unknown> = {}) => {
    const address = `${house.user.base}/api/v1/imports?api_key=${house.user.masterToken}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(address, {
      method: 'POST',
      headers,
      body: JSON.stringify({ url, ...fields }),
    })
    return { status: response.status, body: (await response.json()) as { item_queue_id: string } }
  }
  const fetched = async (url: string, fields?: Record<string, unknown>) => {
    const { status, body } = await post(url, fields)
    assert.equal(status, 200, JSON.stringify(body))
    return house.wait(body.item_queue_id)
  }
  return {
    ...house,
    base: `http://files.test:${port}`,
    port,
    asked,
    resolved,
    network,
    postUrl: post,
    fetched,
  }
}

test('a file is fetched from its address, with its kind from its name or content type', async (t) => {
  const gpkg = made('GPKG', 'a.gpkg', places).get('a.gpkg')!
  const { base, fetched, user, nothingLeft, asked } = await setupUrls(t, (request, response) => {
    if (request.url === '/data/Cities%202.csv?x=1') return response.end('a,b\n1,2\n')
    if (request.url === '/sql?q=1')
      return response.setHeader('content-disposition', 'attachment; filename="trees.gpkg"').end(gpkg)
    if (request.url === '/api/lines')
      return response.setHeader('content-type', 'text/csv; charset=utf-8').end('a\n7\n')
    return response.writeHead(302, { location: '/data/Cities%202.csv?x=1' }).end()
  })
  const csv = await fetched(`${base}/data/Cities%202.csv?x=1`)
  assert.deepEqual([csv.get_error_text, csv.table_name, csv.data_type], [null, 'cities_2', 'url'])
  assert.equal(csv.original_url, `${base}/data/Cities%202.csv?x=1`)
  assert.deepEqual((await user.sql('select a, b from cities_2')).rows, [{ a: '1', b: '2' }])
  assert.equal((await fetched(`${base}/sql?q=1`)).table_name, 'trees')
  assert.equal((await fetched(`${base}/api/lines`)).table_name, 'lines')
  const redirected = await fetched(`${base}/moved`, { table_name: 'moved', collision_strategy: 'skip' })
  assert.deepEqual([redirected.get_error_text, redirected.table_name], [null, 'moved'])
  assert.equal(asked.length, 5)
  await nothingLeft()
})

test('the progress of an import never goes back, also when it is begun again', async (t) => {
  let downloads = 0
  const house = await setupUrls(t, (_, response) => {
    // Progress is written every second.
    setTimeout(() => response.end('n\n1\n2\n'), downloads++ === 0 ? 0 : 1_700)
  })
  const { base, postUrl, user, keys, admin } = house
  await user.sql('create table t (n bigint)')
  const reader = new pg.Client({ connectionString: withDatabase(keys.adminUrl, user.account.database) })
  reader.on('error', () => undefined)
  await reader.connect()
  await reader.query('begin; select from public.t')
  const { body } = await postUrl(`${base}/t.csv`, { collision_strategy: 'overwrite' })
  const told: ImportDocument['progress'][] = []
  const read = async () => {
    const url = `${user.base}/api/v1/imports/${body.item_queue_id}?api_key=${user.masterToken}`
    const document = (await (await fetch(url)).json()) as ImportDocument
    told.push(document.progress)
    return document
  }
  // It has read its file and waits for the table.
  await eventually(async () => assert.equal((await read()).progress.rows, 2), 20_000)
  await eventually(async () => {
    const { rowCount } = await admin(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and query ~ 'lock table'`,
      [user.account.database],
    )
    assert.equal(rowCount, 1)
  })
  await reader.end()
  await eventually(async () => assert.equal((await read()).state, 'complete'), 30_000)
  assert.equal(downloads, 2)
  for (const member of ['bytes_read', 'bytes_total', 'rows', 'tables_done', 'tables_total'] as const) {
    const values = told.map((progress) => progress[member])
    const rising = values.toSorted((one, other) => one - other)
    assert.deepEqual(values, rising, member)
  }
})

test("a server's answer other than a file has its own error code, and nothing is stored", async (t) => {
  const { base, fetched, nothingLeft } = await setupUrls(t, (request, response) => {
    const path = request.url!.slice(1)
    if (/^\d+$/.test(path)) return response.writeHead(Number(path)).end('x')
    if (path === 'round') return response.writeHead(302, { location: '/round' }).end()
    if (path === 'silent.csv') return undefined
    if (path === 'cut.csv') {
      response.writeHead(200, { 'content-length': 1_000 })
      response.write('a\n1\n')
      return setTimeout(() => response.destroy(), 50)
    }
    if (path === 'stalled.csv') return response.write('a\n1\n')
    if (path === 'said.csv') return response.writeHead(200, { 'content-length': 2_000_000 }).write('a\n')
    if (path === 'empty.csv') return response.end()
    if (path === 'zipped.csv') return response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    return response.end('a\n'.repeat(1_000_000))
  })
  const codes: Record<string, number> = {
    401: 1101,
    403: 1101,
    404: 1102,
    500: 1103,
    418: 1001,
    round: 1001,
    'silent.csv': 1020,
    'stalled.csv': 1020,
    'cut.csv': 1001,
    'said.csv': 6666,
    'large.csv': 6666,
    'empty.csv': 1005,
    'zipped.csv': 1001,
  }
  for (const [path, code] of Object.entries(codes)) {
    const failed = await fetched(`${base}/${path}`)
    assert.equal(failed.error_code, code, `${path}: ${JSON.stringify(failed.get_error_text)}`)
  }
  const closed = await fetched('http://files.test:9/x.csv')
  assert.equal(closed.error_code, 1100)
  await nothingLeft()
})

test('no redirect, second DNS answer or other form of an address reaches another host', async (t) => {
  const reached: string[] = []
  const inside = createServer((request, response) => {
    reached.push(request.url!)
    response.end('secret\n1\n')
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  t.after(() => inside.close())
  const { port: secret } = inside.address() as AddressInfo
  const targets = [
    `http://127.0.0.1:${secret}/meta.csv`,
    `http://localhost:${secret}/meta.csv`,
    `http://[::ffff:127.0.0.1]:${secret}/meta.csv`,
    `http://2130706433:${secret}/meta.csv`,
    'http://elsewhere.test/meta.csv',
    'http://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    'ftp://files.test/x.csv',
    `http://user:word@files.test:${secret}/x.csv`,
  ]
  const { base, port, fetched, resolved, service, network } = await setupUrls(t, (request, response) => {
    if (request.url === '/rebound.csv') return response.end('a\n1\n')
    return response.writeHead(307, { location: targets[Number(request.url!.slice(1))]! }).end()
  })
  for (const [at, target] of targets.entries()) {
    const failed = await fetched(`${base}/${at}`)
    assert.ok(
      [1001, 1100].includes(failed.error_code!),
      `${target}: ${JSON.stringify(failed.get_error_text)}`,
    )
    if (target.startsWith('http') && !target.includes('@'))
      assert.equal((await fetched(target)).error_code, 1100, target)
  }
  assert.deepEqual(reached, [])
  // There is no second DNS query: the service connects to the address it has checked.
  let answers = 0
  service.services.imports.network = {
    ...network,
    resolve: async () => [{ address: ++answers === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }],
  }
  const bound = await fetched(`http://rebinding.test:${port}/rebound.csv`)
  assert.deepEqual([bound.get_error_text, answers], [null, 1])
  // One private address among public ones is enough to refuse.
  service.services.imports.network = {
    ...network,
    resolve: async () => ['127.0.0.1', '10.0.0.1'].map((address) => ({ address, family: 4 })),
  }
  assert.equal((await fetched(`http://mixed.test:${port}/rebound.csv`)).error_code, 1100)
  assert.ok(resolved.length > 0)
})

test('private, local, mapped and own addresses are not public', () => {
  const refused = [
    ...['127.0.0.1', '0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['224.0.0.1', '255.255.255.255', '192.0.0.1', '198.18.0.1', '192.0.2.1', '240.0.0.1'],
    ...['::1', '::', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'],
    ...['2001::1', 'fe80::1', 'fc00::1', 'fd12::1', 'ff02::1', 'fec0::1', '2001:db8::1', '4000::1', 'x'],
  ]
  assert.deepEqual(refused.filter(isPublicAddress), [])
  assert.deepEqual(['8.8.8.8', '2606:4700::1111', '93.184.216.34'].filter(isPublicAddress).length, 3)
  assert.equal(publicNetwork.mayConnect('8.8.8.8', 443), true)
  assert.equal(publicNetwork.mayConnect('8.8.8.8', 5432), false)
})

test('an invalid url is refused at once, and every url is unless the operator allows them', async (t) => {
  const { postUrl } = await setupUrls(t, (_, response) => response.end())
  for (const url of ['nothing', 'file:///etc/passwd', 'ftp://x/y.csv', 'http://user:word@x/y.csv'])
    assert.equal((await postUrl(url)).status, 400, url)
  const { user } = await setupImports(t)
  const body = JSON.stringify({ url: 'http://x/y.csv' })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers,
    body,
  })
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /Imports from a URL are disabled on this server/)
})
