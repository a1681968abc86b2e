import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { variables } from '../../src/config/known-variables.ts'
import { beginCartage, cartage, connection, installation } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('Ctrl-C while waiting for a job cancels the job, whose id was shown', async (t) => {
  const house = await setup(t, { worker: true })
  const { child, ended } = beginCartage(connection(house), ['job', 'run', 'select pg_sleep(600)'])
  const [line] = await once(child.stderr, 'data')
  const id = /^job ([0-9a-f-]{36})\n$/.exec(String(line))?.[1]
  assert.ok(id, String(line))
  const status = async () => (await cartage(connection(house), 'job', 'status', id)).out
  await eventually(async () => assert.equal(await status(), `${id} running\n`), 60_000)
  child.kill('SIGINT')
  const { code, out } = await ended
  assert.deepEqual([code, out], [130, `${id} cancelled\n`])
  assert.equal(await status(), `${id} cancelled\n`)
})

test('an interrupted copy leaves no file under the final name, and keeps an existing one', async (t) => {
  const house = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'copy-'))
  const file = join(folder, 'rows.csv')
  await writeFile(file, 'former\n')
  const endless = `copy (select repeat('x', 1000), pg_sleep(0.001), generate_series(1, 1000000000)) to stdout csv`
  const { child, ended } = beginCartage(connection(house), ['copy', 'to', endless, file])
  await eventually(async () => assert.equal((await readdir(folder)).length, 2), 60_000)
  child.kill('SIGINT')
  const { code, err } = await ended
  assert.deepEqual([code, err], [130, 'interrupted\n'])
  assert.equal(await readFile(file, 'utf8'), 'former\n')
  assert.deepEqual(await readdir(folder), ['rows.csv'])
})

test('an error in a COPY shows the line', async (t) => {
  const house = await setup(t)
  await house.user.sql('create table places (id int, name text)')
  const call = ['copy', 'from', 'copy places from stdin', '-']
  const torn = await beginCartage(connection(house), call, '1\tone\ntwo\ttwo\n').ended
  assert.equal(torn.code, 1)
  assert.equal(
    torn.err,
    'error: invalid input syntax for type integer: "two"\ncontext: COPY places, line 2, column id: "two"\n',
  )
})

test('an impossible host, port, folder or proxy is a sentence each', async (t) => {
  const house = await setup(t)
  const { port } = new URL(house.url)
  for (const [env, command, sentence] of [
    [
      { CARTAGE_HOST: 'no.such.invalid' },
      'serve',
      "CARTAGE_HOST must be an address of this machine, not 'no.such.invalid'",
    ],
    [
      { CARTAGE_HOST: '192.0.2.1' },
      'serve',
      "CARTAGE_HOST must be an address of this machine, not '192.0.2.1'",
    ],
    [
      { CARTAGE_WORKER_PORT: port },
      'worker',
      `port ${port} is in use by another program: set CARTAGE_WORKER_PORT to a free one`,
    ],
    [
      { CARTAGE_DATABASE_URL: '', CARTAGE_DATA_DIR: '/proc/x' },
      'serve',
      '/proc/x: no such file or directory',
    ],
    [
      { CARTAGE_TRUSTED_PROXIES: 'abc' },
      'serve',
      "CARTAGE_TRUSTED_PROXIES must be a comma list of addresses or networks such as 10.0.0.0/8, not 'abc'",
    ],
  ] as const) {
    const whole = { ...installation(house), CARTAGE_PORT: '0', CARTAGE_LOG_LEVEL: 'silent', ...env }
    const { code, err } = await cartage(whole, command)
    assert.deepEqual([code, err], [1, `cartage: ${sentence}\n`])
  }
})

test('a full disk gives a sentence with the name of the file', async (t) => {
  const house = await setup(t)
  const rows = `select repeat('x', 1000) from generate_series(1, 2000)`
  for (const args of [
    ['export', rows, '-o', '/dev/full', '--format', 'csv'],
    ['sql', rows, '-o', '/dev/full'],
    ['copy', 'to', `copy (${rows}) to stdout`, '/dev/full'],
  ]) {
    const { code, err } = await cartage(connection(house), ...args, '--no-progress')
    assert.deepEqual([code, err], [1, 'error: /dev/full: no space left on device\n'], args[0])
  }
})

test('a list of proxies has addresses, networks and named groups', () => {
  const proxies = (list: string) => readConfig({ CARTAGE_TRUSTED_PROXIES: list }).trustedProxies
  assert.equal(proxies('loopback, 10.0.0.0/8,::1,'), 'loopback,10.0.0.0/8,::1')
  for (const list of ['10.0.0.0/99', '10.0.0.0/8,::1/129', '1.2.3', '0.0.0.0/0', '::1%lo'])
    assert.throws(
      () => proxies(list),
      /CARTAGE_TRUSTED_PROXIES must be a comma list of addresses or networks/,
    )
})

test("the operator's map style is one or two web addresses, and what it loads from are origins", () => {
  const light = 'https://a.example/light.json'
  assert.deepEqual(readConfig({ CARTAGE_MAP_STYLE: light }).mapStyle, { light, dark: light })
  const dark = 'https://a.example/dark.json'
  assert.deepEqual(readConfig({ CARTAGE_MAP_STYLE: `${light} ${dark}` }).mapStyle, { light, dark })
  for (const wrong of ['light.json', `${light} dark`, `${light} ${dark} ${dark}`])
    assert.throws(() => readConfig({ CARTAGE_MAP_STYLE: wrong }), /CARTAGE_MAP_STYLE must be one address, or/)
  const origins = (list: string) => readConfig({ CARTAGE_MAP_STYLE_ORIGINS: list }).mapStyleOrigins
  assert.deepEqual(origins('https://b.example/ http://c.example:81'), [
    'https://b.example',
    'http://c.example:81',
  ])
  for (const wrong of ['b.example', 'https://b.example/tiles', 'https://*.b.example', "'none'"])
    assert.throws(() => origins(wrong), /CARTAGE_MAP_STYLE_ORIGINS must be a list of origins/)
})

test('a number beyond what its setting can use is refused', () => {
  const timed = Object.values(variables).filter(({ name }) => /_(MS|DAYS)$|_PER_|_LIMIT$|_QUOTA$/.test(name))
  assert.ok(timed.length > 20)
  for (const { name } of timed)
    assert.throws(() => readConfig({ [name]: '9999999999' }), /must be a whole number from \d+ to \d+, not/)
})

test('a port in use, an address without scheme and an invalid one are a sentence each', async (t) => {
  const house = await setup(t)
  const { port } = new URL(house.url)
  const busy = await cartage({ ...installation(house), CARTAGE_PORT: port }, 'serve', '--no-worker')
  assert.equal(busy.code, 1)
  assert.equal(
    busy.err,
    `cartage: port ${port} is in use by another program: set CARTAGE_PORT to a free one\n`,
  )
  for (const [env, args, sentence] of [
    [
      { CARTAGE_URL: '127.0.0.1:8080' },
      ['sql', 'x'],
      /^error: CARTAGE_URL must be an address that begins with http/,
    ],
    [
      {},
      ['sql', 'x', '--url', 'localhost', '--user', 'a'],
      /^error: --url must begin with http:\/\/ or https/,
    ],
    [
      { CARTAGE_DATABASE_URL: 'db:5432' },
      ['user', 'list'],
      /^cartage: CARTAGE_DATABASE_URL must be an address that/,
    ],
    [
      { CARTAGE_DATABASE_URL: 'postgres://me:pass word@h:99999/' },
      ['user', 'list'],
      /^cartage: the address that was/,
    ],
  ] as const) {
    const { err } = await cartage({ CARTAGE_SECRET: 'x'.repeat(32), CARTAGE_API_KEY: 'k', ...env }, ...args)
    assert.match(err, sentence)
    assert.equal(err.split('\n').length, 2, err)
  }
})

test('secrets are read from the environment, a file or standard input, and refused on the command line', async (t) => {
  const house = await setup(t)
  const { CARTAGE_API_KEY: key, ...me } = connection(house)
  const file = join(await mkdtemp(join(tmpdir(), 'key-')), 'key')
  await writeFile(file, `${key}\n`)
  const byFile = await cartage(me, 'sql', 'select 1 as n', '--key-file', file)
  assert.deepEqual([byFile.out, byFile.err], ['{"n":1}\n', ''])
  const byInput = await beginCartage(me, ['sql', 'select 1 as n', '--key-file', '-'], key).ended
  assert.deepEqual([byInput.out, byInput.err], ['{"n":1}\n', ''])
  const byArgument = await cartage(me, 'sql', 'select 1 as n', '--key', key)
  assert.equal(byArgument.out, '{"n":1}\n')
  assert.match(byArgument.err, /^warning: others on this machine can see a key that is given with --key/)
  const host = await cartage(installation(house), 'host', 'add', 'far', 'postgres://me:secret@db/postgres')
  assert.equal(host.code, 2)
  assert.match(host.err, /^cartage: others on this machine can see a password on the command line: use /)
  const url = 'postgres://me:secret@127.0.0.1:9/postgres'
  const told = await beginCartage(installation(house), ['host', 'add', 'far', '-'], url).ended
  assert.match(told.err, /^cartage: 127.0.0.1:9 cannot be used: connect ECONNREFUSED/)
  const byName = await cartage({ ...installation(house), CARTAGE_HOST_URL: url }, 'host', 'add', 'far')
  assert.match(byName.err, /^cartage: 127.0.0.1:9 cannot be used: connect ECONNREFUSED/)
})
