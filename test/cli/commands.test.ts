import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommandLine } from '../../src/cli/operator/main.ts'
import { serviceCommandNames } from '../../src/cli/service-commands.ts'
import { cartage, installation } from '../support/http/call.ts'
import { randomName, setup } from '../support/service/setup.ts'

test('`cartage --help` lists the commands of users and of the operator', async () => {
  const { code, out } = await cartage({}, '--help')
  assert.equal(code, 0)
  for (const command of ['login', 'sql', 'job run', ...serviceCommandNames])
    assert.match(out, new RegExp(`^  ${command} `, 'm'))
  for (const line of out.split('\n')) assert.ok(line.length <= 80, line)
})

test('a user is created, listed and deleted; --json prints one JSON document', async (t) => {
  const house = await setup(t)
  const username = randomName('cli')
  const created = await cartage(installation(house), 'user', 'create', username, '--quota', '5000', '--json')
  assert.equal(created.code, 0, created.err)
  const document = JSON.parse(created.out)
  assert.equal(document.username, username)
  assert.equal(document.quota_in_bytes, 5000)
  assert.match(document.api_key, /^cartage_/)
  const listed = await cartage(installation(house), 'user', 'list')
  assert.ok(listed.out.split('\n').includes(username))
  const deleted = await cartage(installation(house), 'user', 'delete', username, '--yes')
  assert.equal(deleted.code, 0)
  assert.equal(deleted.out, `deleted user ${username}\n`)
})

test('an organization is created with its owner, gets an admin member, and is deleted', async (t) => {
  const house = await setup(t)
  const [org, owner, member] = [randomName('org'), randomName('owner'), randomName('member')]
  const created = await cartage(installation(house), 'org', 'create', org, '--owner', owner, '--json')
  assert.equal(JSON.parse(created.out).owner.username, owner)
  assert.equal(
    (await cartage(installation(house), 'user', 'create', member, '--organization', org, '--admin')).code,
    0,
  )
  const listed = await cartage(installation(house), 'org', 'list', '--json')
  assert.ok(JSON.parse(listed.out).organizations.some((each: { name: string }) => each.name === org))
  const refused = await cartage(installation(house), 'org', 'delete', org, '--yes')
  assert.equal(refused.code, 1)
  assert.match(refused.err, /still has members/)
  await cartage(installation(house), 'user', 'delete', member, '--yes')
  assert.equal((await cartage(installation(house), 'org', 'delete', org, '--yes')).code, 0)
})

test('a wrong call exits with code 2 and a sentence on standard error', async () => {
  // There is no terminal to ask before deleting.
  for (const args of [['dance'], ['user', 'create'], ['user', 'delete', 'a'], ['org', 'delete', 'a']]) {
    const { code, out, err } = await cartage({}, ...args)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, aSentence)
  }
})

const aSentence = /^(cartage|error): .+\n(usage: .+\n)?$/

const wrongCalls: readonly (readonly [string, readonly string[]])[] = [
  ['a surplus name', ['user', 'create', 'a', 'b']],
  ['an unknown option', ['user', 'create', 'a', '--dance']],
  ['a quota that is no size', ['user', 'create', 'a', '--quota', 'much']],
  ['a change of nothing', ['user', 'set', 'a']],
  ['a rate without a group', ['user', 'set', 'a', '--rate', '100/60']],
  ['an action that is never recorded', ['audit', '--action', 'user.danced']],
  ['a switch that is neither on nor off', ['user', 'set', 'a', '--admin', 'perhaps']],
  ['an organization without owner', ['org', 'create', 'a']],
]

for (const [what, args] of wrongCalls) {
  test(`${what} is a wrong call`, async (t) => {
    const { mock } = t.mock.method(process.stderr, 'write', () => true)
    const code = await runCommandLine(args).finally(() => mock.restore())
    assert.equal(code, 2)
    assert.match(mock.calls.map((call) => call.arguments[0]).join(''), aSentence)
  })
}

test('a command that fails exits with code 1 and a sentence, and leaves nothing half done', async (t) => {
  const house = await setup(t)
  for (const [args, expected] of [
    [['user', 'create', 'Not_A_Name'], /lower-case/],
    [['user', 'create', house.user.username], /already taken/],
    [['user', 'delete', 'nobody-of-that-name', '--yes'], /not found/],
    [['user', 'create', randomName('x'), '--organization', 'no-such-org'], /does not exist/],
  ] as const) {
    const { code, err } = await cartage(installation(house), ...args)
    assert.equal(code, 1)
    assert.match(err, expected)
  }
})

test('an impossible configuration is refused with a sentence', async () => {
  const { code, err } = await cartage({ CARTAGE_PORT: 'eighty' }, 'user', 'list')
  assert.equal(code, 1)
  assert.match(err, /^cartage: CARTAGE_PORT must be a whole number/)
  // PostgreSQL would refuse the last at every login, and a timer set for so long fires at once.
  for (const [name, value] of [
    ['CARTAGE_JOB_TIMEOUT_MS', '2592000000'],
    ['CARTAGE_CONNECTION_WAIT_MS', '2592000000'],
    ['CARTAGE_JOBS_PER_WORKER', '2147483647'],
    ['CARTAGE_JOB_RETENTION_DAYS', '99999999'],
    ['CARTAGE_TEMP_FILE_MAX_BYTES', String(2 ** 42)],
  ] as const) {
    const { code, err } = await cartage({ [name]: value }, 'user', 'list')
    assert.equal(code, 1)
    assert.match(err, new RegExp(`^cartage: ${name} must be a whole number from \\d+ to \\d+, not`))
  }
  const unreachable = { CARTAGE_DATABASE_URL: 'postgres://u@127.0.0.1:1/x', CARTAGE_SECRET: 'x'.repeat(32) }
  for (const command of [['user', 'list'], ['serve']]) {
    const { code, err } = await cartage(unreachable, ...command)
    assert.equal(code, 1)
    assert.match(err, /^cartage: The database is not reachable at the moment \(connect ECONNREFUSED/)
  }
  const second = await cartage({ CARTAGE_DATABASE_URL: 'postgres://nowhere' }, 'user', 'list')
  assert.equal(second.code, 1)
  assert.match(second.err, /CARTAGE_SECRET must be set/)
})
