import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadHosts } from '../../../src/hosts/load-hosts.ts'
import { silentProxy } from '../../support/postgres/silent-proxy.ts'
import { startProxy } from '../../support/postgres/tcp-proxy.ts'
import { admin, isError, newUser, startHost } from '../../support/postgres/two-hosts.ts'
import { runSql, withDatabase } from '../../support/runner/namespace.ts'
import { newInstallation } from '../../support/service/installation.ts'

test('a host is added, gets another address and is removed by the admin API, and its password is told nowhere', async (t) => {
  const { config, start } = await newInstallation(t)
  const [service, other] = [await start(), await start()]
  const cluster = await startHost(t, config.namespace)
  const { password, host: address } = new URL(cluster.url)
  const operator = admin(service)
  const added = await operator.hosts.add({ name: 'second', url: cluster.url })
  const second = { name: 'second', databases: 0, accepts_users: true, control_only: false }
  assert.deepEqual(added, { ...second, address })
  assert.deepEqual((await admin(other).hosts.list())[1], { ...second, address })
  assert.deepEqual(
    service.services.databases.hosts.all().map(({ name }) => name),
    ['local', 'second'],
  )

  await operator.hosts.change('local', { accepts_users: false })
  const user = await newUser(other, 'first')
  const proxy = await startProxy(t, cluster.url)
  const { address: changed } = await operator.hosts.change('second', { url: proxy.url, accepts_users: false })
  assert.equal(changed, new URL(proxy.url).host)
  assert.equal((await user.sql('select 1')).total_rows, 1)
  await assert.rejects(operator.hosts.remove('second'), /has 1 databases of users/)
  await operator.users.delete('first')
  assert.deepEqual(await operator.hosts.remove('second'), { name: 'second', deleted: true })
  assert.equal((await admin(other).hosts.list()).length, 1)
  const { rows } = await runSql(
    { connectionString: cluster.url },
    'select datname from pg_database where datname like $1',
    [`${config.namespace}%`],
  )
  assert.deepEqual(rows, [])

  const records = await operator.audit()
  assert.deepEqual(
    records.flatMap(({ action, subject }) => (subject === 'second' ? [action] : [])).toReversed(),
    ['host.added', 'host.changed', 'host.changed', 'host.removed'],
  )
  assert.ok(!JSON.stringify(records).includes(password))
})

test('an address of a host is checked in a sentence without its password, and stored sealed', async (t) => {
  const { config, keys, start } = await newInstallation(t)
  const service = await start()
  const cluster = await startHost(t)
  const { hosts, close } = admin(service)
  t.after(close)
  const refused = async (act: Promise<unknown>, reason: RegExp) => {
    const error = await act.then(
      () => assert.fail('it was taken'),
      (caught: Error) => caught,
    )
    assert.ok(isError(422)(error), String(error))
    assert.match(error.message, reason)
    assert.ok(!error.message.includes(password), error.message)
  }
  const { password } = new URL(cluster.url)
  const wrong = cluster.url.replace(/:[^:@/]+@/, ':wrong-word@')
  await refused(hosts.add({ name: 'second', url: wrong }), /cannot be used: password authentication failed/)
  await refused(
    hosts.add({ name: 'second', url: 'postgres://u:p@127.0.0.1:1/x' }),
    /cannot be used: .*REFUSED/,
  )
  await refused(hosts.add({ name: 'second', url: `postgres://u:${password}@[/x` }), /cannot be read/)
  await runSql({ connectionString: cluster.url }, `create role keeper login password '${password}'`)
  const keeper = cluster.url.replace(/\/\/[^:]+:/, '//keeper:')
  await refused(hosts.add({ name: 'second', url: keeper }), /keeper is not a superuser there/)
  const many = Array.from({ length: 17 }, () => '127.0.0.1:1').join()
  await refused(hosts.add({ name: 'second', url: `postgres://u:p@${many}/x` }), /at most 16 servers/)
  await refused(hosts.add({ name: 'second', url: `postgres://${'x'.repeat(4_096)}` }), /4096 characters/)
  await refused(hosts.add({ name: 'second', url: 'http://example.org' }), /must begin with postgres/)
  await refused(hosts.add({ name: 'local', url: cluster.url }), /comes from the configuration/)
  await refused(hosts.add({ name: 'second', url: keys.adminUrl }), /is the host 'local' already/)
  await refused(hosts.change('second', { url: cluster.url }), /There is no host 'second'/)
  await refused(hosts.change('local', {}), /Give accepts_users, url, or both/)
  const silent = await silentProxy(t, cluster.url)
  silent.silence('postgres', { andNew: true })
  const began = performance.now()
  await refused(hosts.add({ name: 'second', url: silent.url }), /cannot be used: /)
  assert.ok(performance.now() - began < 20_000)
  // DROP DATABASE waits for a login that is under way.
  silent.speak()
  assert.equal(service.services.databases.hosts.all().length, 1)

  await hosts.add({ name: 'second', url: cluster.url })
  await refused(hosts.add({ name: 'second', url: cluster.url }), /There is a host 'second' already/)
  await refused(hosts.add({ name: 'third', url: cluster.url }), /is the host 'second' already/)
  await refused(hosts.change('second', { url: wrong }), /cannot be used: password authentication failed/)
  const { rows } = await runSql(
    { connectionString: withDatabase(keys.adminUrl, config.namespace) },
    `select encode(sealed_url, 'escape') as stored from cartage.hosts where name = 'second'`,
  )
  assert.ok(!rows[0]!.stored.includes(password))
  await hosts.remove('second')
})

test('an address that names files is refused, and so is one whose password may be cut, without showing it', async (t) => {
  const { start } = await newInstallation(t)
  const { hosts, close } = admin(await start())
  t.after(close)
  const refused = async (url: string, reason: RegExp) => {
    const acts = [
      () => hosts.add({ name: 'second', url }),
      () => hosts.change('second', { url }),
      () => hosts.replicas('local').add({ name: 'east', url }),
    ]
    for (const act of acts)
      await assert.rejects(act(), (error: Error) => {
        assert.match(error.message, reason)
        assert.doesNotMatch(error.message, /hunter/)
        return isError(422)(error)
      })
  }
  for (const parameter of ['sslrootcert', '%73slkey', 'ssl\tcert', 'sslmode=require&sslcert'])
    await refused(
      `postgres://u:hunter@127.0.0.1:1/x?${parameter}=/nowhere.pem`,
      /must not have sslrootcert, sslcert or sslkey/,
    )
  for (const word of ['12/hunter', '1,2#hunter', '12?hunter', 'a@hunter/x', 'hunter/'])
    await refused(`postgres://u:${word}@h/x`, /write \/ as %2F/)
})

test('of two requests to add one cluster under two names at the same time one is refused', async (t) => {
  const { start } = await newInstallation(t)
  const services = [await start(), await start()]
  const { url } = await startHost(t)
  const asked = services.map((service, place) => admin(service).hosts.add({ name: `name-${place}`, url }))
  const answers = await Promise.allSettled(asked)
  assert.deepEqual(answers.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const [refusal] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  assert.match(
    String(refusal),
    /Another host is being added, changed or removed|is the host 'name-\d' already/,
  )
  const [, added] = await admin(services[0]!).hosts.list()
  await admin(services[0]!).hosts.remove(added!.name)
})

test('requests go on at the old address while a wrong new one is checked', async (t) => {
  const { config, start } = await newInstallation(t)
  const service = await start()
  const cluster = await startHost(t, config.namespace)
  const operator = admin(service)
  await operator.hosts.add({ name: 'second', url: cluster.url })
  await operator.hosts.change('local', { accepts_users: false })
  const user = await newUser(service, 'first')
  const silent = await silentProxy(t, cluster.url)
  silent.silence('postgres', { andNew: true })
  let isOver = false
  const change = operator.hosts.change('second', { url: silent.url }).finally(() => {
    isOver = true
  })
  change.catch(() => undefined)
  for (let count = 0; count < 5 || (!isOver && count < 50); count += 1)
    assert.equal((await user.sql('select 1')).total_rows, 1)
  await assert.rejects(change, /cannot be used/)
  silent.speak()
  assert.equal((await user.sql('select 1')).total_rows, 1)
  await operator.users.delete('first')
  await operator.hosts.remove('second')
})

test('a host whose address names a file that is missing here holds up no other host and no start', async (t) => {
  const { start } = await newInstallation(t)
  const service = await start()
  const { databases, secrets, installation } = service.services
  const url = 'postgres://somebody:hunter2@127.0.0.1:1/postgres?sslmode=verify-full&sslrootcert=/nowhere.pem'
  for (const [id, name] of [
    [98, 'near'],
    [99, 'far'],
  ] as const)
    await databases.control.query(
      'insert into cartage.hosts (id, name, sealed_url) overriding system value values ($1, $2, $3)',
      [id, name, secrets.seal(id === 99 ? url : url.replace(/\?.*/, ''))],
    )
  await loadHosts(installation)
  const other = await start()
  const operator = admin(other)
  assert.deepEqual((await operator.hosts.list()).map(({ name, address }) => [name, address]).slice(1), [
    ['near', '127.0.0.1:1'],
    ['far', 'unknown'],
  ])
  const far = (await operator.doctor()).find(({ name }) => name === 'host far')
  assert.match(far?.advice ?? '', /cannot be read here/)
  for (const name of ['near', 'far']) await operator.hosts.remove(name)
  assert.equal((await operator.hosts.list()).length, 1)
})
