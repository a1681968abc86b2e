import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { startProxy } from '../../support/postgres/tcp-proxy.ts'
import { admin, newUser, startHost, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { eventually } from '../../support/service/setup.ts'

test('a new address of a host must lead to its databases, whatever is still connected to the old one', async (t) => {
  const empty = await startHost(t)
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await assert.rejects(
    addHost(service.services.installation, 'second', empty.url),
    /Databases of 'second' are missing in this cluster/,
  )
  assert.equal((await client.sql('select 1')).total_rows, 1)
})

test('once a host has a new address, no process starts work at the old one', async (t) => {
  const { service, installation, cluster } = await startWithTwoHosts(t)
  const other = await installation.start()
  await newUser(service, 'first')
  const { api_key: token } = await admin(service).users.create({ username: 'second' })
  const clients = [service, other].map(({ url: baseUrl }) =>
    createClient({ baseUrl, username: 'second', token }),
  )
  const backends = async () => {
    const answers = clients.map((client) => client.sql('select pg_backend_pid() as pid'))
    return (await Promise.all(answers)).map(({ rows }) => rows[0]!.pid)
  }
  await clients[0]!.sql('create table seen (item int, pid int)')
  await backends()
  const here = 'select pid from pg_stat_activity where datname = current_database()'
  const before = (await clients[0]!.sql(here)).rows.map(({ pid }) => pid)
  const { job_id } = await clients[0]!.jobs.create([
    'insert into seen select 1, pg_backend_pid() from pg_sleep(3)',
    'insert into seen select 2, pg_backend_pid()',
  ])
  await eventually(async () => assert.equal((await clients[0]!.jobs.read(job_id)).status, 'running'))
  const proxy = await startProxy(t, cluster.url)
  await addHost(service.services.installation, 'second', proxy.url)
  assert.deepEqual(
    (await backends()).filter((pid) => before.includes(pid)),
    [],
  )
  assert.equal((await clients[0]!.jobs.finished(job_id)).status, 'done')
  const { rows } = await clients[0]!.sql(
    'select count(distinct pid) as backends, count(*) as items from seen',
  )
  assert.deepEqual(rows, [{ backends: 2, items: 2 }])
})
