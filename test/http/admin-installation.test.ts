import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { type TestContext, test } from 'node:test'
import { type AdminClient, createAdminClient, createClient } from '../../src/client/client.ts'
import type { JobQuery } from '../../src/contract/documents.ts'
import { hostFromUrl } from '../../src/postgres/hosts.ts'
import { cartage, installation } from '../support/http/call.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { newInstallation } from '../support/service/installation.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const nouns = ['hosts', 'doctor', 'audit', 'activity']

test('hosts, doctor and audit answer what the command line prints', async (t) => {
  const bundle = await setup(t, { isIsolated: true, config: { dataDir: tmpdir() } })
  const { username } = bundle.user
  const printed = async (...args: string[]) => {
    const { out, err } = await cartage(installation(bundle), ...args, '--json')
    assert.ok(out, err)
    return JSON.parse(out)
  }
  assert.deepEqual((await read(bundle, 'hosts')).body, await printed('host', 'list'))
  const audit = (await read(bundle, `audit?account=${username}&action=user.created&limit=5`)).body
  assert.equal(audit.records.length, 1)
  assert.deepEqual(audit, await printed('audit', '--account', username, '--action', 'user.created'))
  const names = ({ checks }: { checks: { name: string }[] }) =>
    checks.map(({ name }) => name).filter((name) => !name.endsWith('disk'))
  assert.deepEqual(names((await read(bundle, 'doctor')).body), names(await printed('doctor')))
})

test('the audit record is read page by page, newest first', async (t) => {
  const bundle = await setup(t)
  const operator = adminClient(t, bundle)
  const { username } = bundle.user
  for (const quota_in_bytes of [1, 2, 3]) await operator.users.change(username, { quota_in_bytes })
  const first = await operator.audit({ account: username, limit: 2 })
  const second = await operator.audit({ account: username, limit: 2, before: first.at(-1)!.id })
  assert.deepEqual(
    [...first, ...second].map(({ action, details }) => [action, details.quota_in_bytes]),
    [
      ['user.changed', 3],
      ['user.changed', 2],
      ['user.changed', 1],
      ['user.created', 0],
    ],
  )
})

test('invalid parameters are 400 with a sentence', async (t) => {
  const bundle = await setup(t)
  for (const [path, sentence] of [
    ['audit?limit=0', /^Invalid limit: it must be a whole number from 1 to 1000$/],
    ['audit?limit=1001', /^Invalid limit/],
    ['audit?limit=1e3', /^Invalid limit/],
    ['audit?before=-1', /^Invalid before/],
    ['audit?before=99999999999999999999', /^Invalid before/],
    ['audit?before=9007199254740993', /^Invalid before/],
    ['audit?action=user.danced', /^Invalid action: it must be one of user\.created, /],
    ['audit?acount=alice', /^Unknown parameter: acount\. Known: account, /],
    ['audit?account=a&account=b', /^The parameter account is given more than once$/],
    ['audit?account=%00', /NUL|null/i],
    ['audit?__proto__=1', /^Unknown parameter: __proto__/],
    ['activity?limit=none', /^Invalid limit/],
    ['activity?before=1', /^Unknown parameter: before/],
    ['activity?text=whole', /^Invalid text: it must be one of cut, full/],
    ['hosts?limit=1', /^Unknown parameter: limit\. Known: none$/],
    ['doctor?host=main', /^Unknown parameter: host\. Known: none$/],
  ] as const) {
    const { status, body } = await read(bundle, path)
    assert.equal(status, 400, path)
    assert.match(body.error[0], sentence, path)
  }
  const hostile = encodeURIComponent(`x' or 1=1; drop table cartage.audit --`)
  assert.deepEqual((await read(bundle, `audit?account=${hostile}&limit=&before=`)).body, { records: [] })
})

test('a wrong or missing token is 401; the key of a user is no admin token', async (t) => {
  const { url, user } = await setup(t)
  for (const noun of nouns) {
    for (const authorization of ['', 'Bearer wrong', `Bearer ${user.masterToken}`]) {
      const response = await fetch(`${url}/admin/v1/${noun}`, { headers: { authorization } })
      assert.equal(response.status, 401, `${noun} ${authorization}`)
      assert.equal(((await response.json()) as { code: string }).code, 'unauthorized')
    }
  }
})

test('without an admin token every admin path is 404, and the answer names the variable', async (t) => {
  const { start } = await newInstallation(t)
  const { url } = await start({ keys: { adminToken: '' } })
  for (const noun of nouns) {
    const response = await fetch(`${url}/admin/v1/${noun}`, { headers: { authorization: 'Bearer ' } })
    assert.equal(response.status, 404, noun)
    assert.deepEqual(await response.json(), {
      error: ['The admin API is off: CARTAGE_ADMIN_TOKEN is not set'],
      code: 'admin-off',
    })
  }
})

test('the activity shows the running jobs, the waiting users and how many are left out', async (t) => {
  const bundle = await setup(t, { worker: true })
  const other = await bundle.createUser()
  const operator = adminClient(t, bundle)
  const chain = ['select 1', 'select pg_sleep(600)', 'select 3']
  const jobs: string[] = []
  for (const user of [bundle.user, other]) jobs.push(await submit(user, { query: chain }))
  const late = await submit(other, 'select 4')
  await untilRunning(bundle, jobs[0]!, 1)
  await untilRunning(bundle, jobs[1]!, 1)
  const { running, waiting, left_out } = await operator.activity()
  assert.deepEqual(
    running.map(({ job_id, username, item, items, host }) => [job_id, username, item, items, host]).sort(),
    [
      [jobs[0], bundle.user.username, 2, 3, 'local'],
      [jobs[1], other.username, 2, 3, 'local'],
    ].sort(),
  )
  for (const { worker, started_at } of running) {
    assert.match(worker ?? '', new RegExp(` ${process.pid}$`))
    assert.ok(Date.now() - Date.parse(started_at) < 120_000, started_at)
  }
  const { rows } = await bundle.service.services.databases.control.query(
    'select created_at from cartage.jobs where id = $1',
    [late],
  )
  const oldest_at = rows[0].created_at.toISOString()
  assert.deepEqual(waiting, [{ username: other.username, jobs: 1, oldest_at }])
  assert.deepEqual(left_out, { running: 0, waiting: 0, statements: 0 })
  const cut = await operator.activity({ limit: 1 })
  assert.deepEqual([cut.running.length, cut.left_out], [1, { running: 1, waiting: 0, statements: 1 }])
})

test('a host that does not answer holds up neither the list nor the doctor, and its password is never shown', async (t) => {
  const bundle = await setup(t, {
    isIsolated: true,
    config: { connectionWaitMs: 60_000, dataDir: '/nowhere' },
  })
  const { databases, secrets } = bundle.service.services
  const url = `postgres://somebody:hunter2@127.0.0.1:${await silentServer(t)}/postgres`
  await databases.control.query(
    `insert into cartage.hosts (id, name, sealed_url) overriding system value values (99, 'far', $1)`,
    [secrets.seal(url)],
  )
  databases.hosts.register(hostFromUrl(99, 'far', url))
  t.after(async () => {
    databases.hosts.forget(99)
    await databases.control.query('delete from cartage.hosts where id = 99')
  })
  const start = Date.now()
  const hosts = (await read(bundle, 'hosts')).body.hosts
  assert.deepEqual(hosts[1], {
    name: 'far',
    databases: 0,
    address: new URL(url).host,
    accepts_users: true,
    control_only: false,
  })
  const { checks } = (await read(bundle, 'doctor')).body
  assert.ok(Date.now() - start < 30_000)
  const ofHost = checks.filter(({ name }: { name: string }) => name.startsWith('host far'))
  assert.deepEqual(
    ofHost.map(({ name, status }: Record<string, string>) => [name, status]),
    [['host far', 'fail']],
  )
  assert.match(ofHost[0].advice, /does not answer: no answer within 5000 ms/)
  assert.ok(checks.some(({ name }: { name: string }) => name === 'host local: PostGIS'))
  assert.match(checks.find(({ name }: { name: string }) => name === 'disk').advice, /cannot be checked/)
  assert.ok(!JSON.stringify([hosts, checks]).includes('hunter2'))
})

function adminClient(t: TestContext, { url, keys }: Setup): AdminClient {
  const client = createAdminClient({ baseUrl: url, token: keys.adminToken })
  t.after(() => client.close())
  return client
}

async function submit({ base, username, masterToken: token }: TestUser, query: JobQuery): Promise<string> {
  const client = createClient({ baseUrl: new URL(base).origin, username, token })
  const { job_id } = await client.jobs.create(query)
  client.close()
  return job_id
}

async function read({ url, keys }: Setup, path: string): Promise<{ status: number; body: any }> {
  const headers = { authorization: `Bearer ${keys.adminToken}` }
  const response = await fetch(`${url}/admin/v1/${path}`, { headers })
  return { status: response.status, body: await response.json() }
}

/** Accepts connections and never answers. */
async function silentServer(t: TestContext): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
