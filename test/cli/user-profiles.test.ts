import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { beginCartage, cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { userProgram } from '../support/service/program.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('login stores a key in a file that only its owner can read, and never prints it', async (t) => {
  const { home, url, user, key } = await newHome(t)
  const terminal = inTerminal(t, home, shellLine('login', '--url', url, '--user', user))
  await eventually(() => assert.match(terminal.shown(), /Key \(not shown\): /), 60_000)
  terminal.type(`${key}\n`)
  assert.equal(await terminal.ended, 0)
  assert.match(terminal.shown(), new RegExp(`logged in as ${user} at ${url}: profile ${user}, saved in `))
  assert.ok(!terminal.shown().includes(key))
  const file = join(home.XDG_CONFIG_HOME, 'cartage/config.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)

  assert.equal((await cartage(home, 'sql', 'select 1 as n')).out, '{"n":1}\n')
  const who = await cartage(home, 'whoami', '--verbose')
  assert.deepEqual(
    { ...JSON.parse(who.out), used: '' },
    { user, url, profile: user, key: 'master', used: '', quota: 'unlimited' },
  )
  assert.match(who.err, /> GET .* \/api\/v4\/me\n/)
  assert.ok(!who.err.includes(key))

  await chmod(file, 0o644)
  const open = await cartage(home, 'whoami')
  assert.deepEqual(
    [open.code, open.err],
    [2, `error: ${file} holds keys, and others can read it: chmod 600 '${file}'\n`],
  )
  await chmod(file, 0o600)
  assert.equal((await cartage(home, 'logout')).code, 0)
  assert.equal((await cartage(home, 'profiles', '--json')).out, '[]\n')
  assert.equal((await cartage(home, 'whoami')).code, 4)
})

test('a command in the configuration may supply the key, which then appears in no process arguments', async (t) => {
  const { home, url, user, key } = await newHome(t)
  const wrong = await beginCartage(home, ['login', '--url', url, '--user', user, '--key-stdin'], 'wrong')
    .ended
  assert.equal(wrong.code, 4)
  const secret = join(home.XDG_STATE_HOME, 'secret')
  await writeFile(secret, key)
  await beginCartage(home, ['login', '--url', url, '--user', user, '--key-stdin', '--profile', 'p'], key)
    .ended
  const file = join(home.XDG_CONFIG_HOME, 'cartage/config.json')
  await writeFile(
    file,
    (await readFile(file, 'utf8')).replace(`"key": "${key}"`, `"key_command": "cat '${secret}'"`),
  )
  const { child, ended } = beginCartage(home, ['sql', 'select pg_sleep(2)'])
  await eventually(async () => assert.ok((await commandLine(child.pid!)).includes('pg_sleep')), 60_000)
  assert.ok(!(await commandLine(child.pid!)).includes(key))
  assert.equal((await ended).code, 0)
})

const commandLine = (pid: number) => readFile(`/proc/${pid}/cmdline`, 'utf8')

test("a folder's file names service and user, but neither holds a key nor sends one to another service", async (t) => {
  const { home, url, user, key } = await newHome(t)
  await beginCartage(home, ['login', '--url', url, '--user', user, '--key-stdin'], key).ended
  const call = async (settings: object, env: Record<string, string> = {}) => {
    const folder = await mkdtemp(join(tmpdir(), 'folder-'))
    await writeFile(join(folder, '.cartage.json'), JSON.stringify(settings))
    return promisify(execFile)(process.execPath, [userProgram, 'sql', 'select 1 as n'], {
      cwd: folder,
      env: { ...process.env, ...home, ...env },
    }).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      ({ code, stderr }) => ({ code, text: stderr as string }),
    )
  }
  assert.deepEqual(await call({ url, user }), { code: 0, text: '{"n":1}\n' })
  assert.equal((await call({ url, key: 'x' })).code, 2)
  const stranger = {
    code: 4,
    text: 'error: .cartage.json names http://127.0.0.1:9, where you have not logged in: cartage login --url http://127.0.0.1:9\n',
  }
  assert.deepEqual(await call({ url: 'http://127.0.0.1:9', user }), stranger)
  assert.deepEqual(await call({ url: 'http://127.0.0.1:9', user }, { CARTAGE_API_KEY: key }), stranger)
})

test("login sends no key to the address in a folder's file before the person has seen it", async (t) => {
  const { home, url, user, key } = await newHome(t)
  const folder = await mkdtemp(join(tmpdir(), 'folder-'))
  await writeFile(join(folder, '.cartage.json'), JSON.stringify({ url, user }))
  const login = `cd '${folder}' && ${shellLine('login')}`
  const piped = await promisify(execFile)(
    'sh',
    ['-c', `echo '${key}' | ${shellLine('login', '--key-stdin')}`],
    {
      cwd: folder,
      env: { ...process.env, ...home },
    },
  ).catch(({ code, stderr }) => ({ code, stderr }))
  assert.deepEqual(piped, { code: 2, stderr: `error: no terminal to ask on: add --url ${url}\n` })

  const refused = inTerminal(t, home, login)
  await eventually(
    () => assert.ok(refused.shown().includes(`Service, from .cartage.json [${url}]: `)),
    60_000,
  )
  refused.type('\x03')
  assert.equal(await refused.ended, 130)

  const agreed = inTerminal(t, home, login)
  await eventually(() => assert.match(agreed.shown(), /Service, from .cartage.json/), 60_000)
  agreed.type('\n')
  await eventually(() => assert.match(agreed.shown(), /Key \(not shown\): /), 60_000)
  agreed.type(`${key}\n`)
  assert.equal(await agreed.ended, 0)
  assert.match(agreed.shown(), /logged in as /)
})

test('.cartage.json of another user of the machine is ignored', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const { home, url, user, key } = await newHome(t)
  await beginCartage(home, ['login', '--url', url, '--user', user, '--key-stdin'], key).ended
  const folder = await mkdtemp(join(tmpdir(), 'folder-'))
  const file = join(folder, '.cartage.json')
  await writeFile(file, JSON.stringify({ url: 'http://127.0.0.1:9' }))
  await chown(file, 65534, 65534)
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [userProgram, 'sql', 'select 1 as n'],
    {
      cwd: folder,
      env: { ...process.env, ...home },
    },
  )
  assert.equal(stdout, '{"n":1}\n')
  assert.match(stderr, /^warning: .cartage.json belongs to another user, so it is not read\n/)
})

test('bash runs nothing in a name that it completes, and completion prints no control sequences', async (t) => {
  const { home, house } = await newHome(t)
  const folder = await mkdtemp(join(tmpdir(), 'bin-'))
  await symlink(userProgram, join(folder, 'cartage'))
  const names = ['a$(touch ran)', 'b;touch ran', 'c`touch ran`', `d' "x`, 'e\\$x *', '~f']
  const steering = ['z\n;touch ran', 'z\x1b]52;c;YQ==\x07', 'z\u009b2J', 'z\u202eb']
  for (const name of [...names, ...steering])
    await house.user.sql(`create table "${name.replaceAll('"', '""')}" ()`)
  // As if the line were run after each completion.
  const script = `source <(cartage completion bash)
    for word in a b c d e '~' z; do
      COMP_WORDS=(cartage table show "$word"); COMP_CWORD=3; _cartage
      for line in "\${COMPREPLY[@]}"; do eval "printf '%s\\n' $line"; done
    done`
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash'], {
    cwd: folder,
    env: { ...process.env, ...home, ...connection(house), PATH: `${folder}:${process.env.PATH}` },
  })
  assert.deepEqual(stdout.trimEnd().split('\n'), names)
  assert.deepEqual(await readdir(folder), ['cartage'])
})

test('bash completes commands of users and the operator, options, tables and keys, and runs nothing that was typed', async (t) => {
  const { home, house } = await newHome(t)
  await house.user.sql('create table places_of_note as select 1 as id')
  const folder = await mkdtemp(join(tmpdir(), 'bin-'))
  await symlink(userProgram, join(folder, 'cartage'))
  const lines = [
    'job ',
    'sql --for',
    'table show pla',
    'key can Mas',
    'sql $(touch ran) --ana',
    'user re',
    'user set ann --q',
    'user set ann --admin ',
    'audit --action key.c',
    'help table un',
  ]
  const script = `source <(cartage completion bash); source <(cartage completion bash)
    for line in "\${@}"; do
      COMP_WORDS=(cartage $line); [[ $line == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      _cartage; echo "\${COMPREPLY[*]}"
    done`
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', ...lines], {
    cwd: folder,
    env: { ...process.env, ...home, ...connection(house), PATH: `${folder}:${process.env.PATH}` },
  })
  assert.deepEqual(stdout.split('\n'), [
    'run status wait follow cancel again list',
    '--format',
    'places_of_note',
    'Master',
    '--analyze',
    'reset-key resume',
    '--quota',
    'on off',
    'key.created key.changed',
    'unshare',
    '',
  ])
  assert.deepEqual(await readdir(folder), ['cartage'])
})

test('a statement of several lines, a command and Ctrl-C work interactively; no token enters the history', async (t) => {
  const { home, house, key } = await newHome(t)
  const terminal = inTerminal(t, { ...home, ...connection(house) }, shellLine('sql'))
  const says = (pattern: RegExp) => eventually(() => assert.match(terminal.shown(), pattern), 60_000)
  await says(/\\\? shows help, \\q quits\.\r\n[\s\S]*=> /)
  terminal.type('select 1 as one,\r')
  await says(/-> /)
  terminal.type('  2 as two;\r')
  await says(/ one │ two\r\n─────┼────\r\n {3}1 │ {3}2\r\n1 row, \d+ ms\r\n/)
  terminal.type('select nam;\r')
  await says(/error: column "nam" does not exist\r\n {2}1 │ select nam\r\n/)
  terminal.type('select pg_sleep(600);\r')
  await eventually(async () => {
    const { rowCount } = await house.admin(
      "select 1 from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'",
    )
    assert.equal(rowCount, 1)
  }, 60_000)
  terminal.type('\x03')
  await says(/cancelled\r\n/)
  terminal.type(`select '${key}' as k;\r`)
  await says(/ k\r\n/)
  terminal.type('\\x\r')
  await says(/format line/)
  terminal.type('\\q\r')
  assert.equal(await terminal.ended, 0)
  const history = await readFile(join(home.XDG_STATE_HOME, 'cartage/sql-history'), 'utf8')
  assert.ok(history.includes('select nam;') && !history.includes(key))
})

async function newHome(t: TestContext) {
  const house = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'home-'))
  const { CARTAGE_URL: url, CARTAGE_USER: user, CARTAGE_API_KEY: key } = connection(house)
  return { house, url, user, key, home: { XDG_CONFIG_HOME: join(folder), XDG_STATE_HOME: folder } }
}
