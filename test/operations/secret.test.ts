import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createUser } from '../../src/accounts/create-user.ts'
import { deriveSecrets } from '../../src/secrets.ts'
import { cartage } from '../support/http/call.ts'
import { type Installation, newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'

const newSecret = 'another secret for tests, as long as it must be'
const username = 'alice'

test('a process with another secret is refused in one sentence, with every command', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  const env = environment(installation, {
    CARTAGE_SECRET: newSecret,
    CARTAGE_PORT: '0',
    // Other tests use connections of the cluster too, which causes a warning.
    CARTAGE_LOG_LEVEL: 'error',
  })
  for (const command of [
    'serve',
    'serve --no-worker',
    'worker',
    'user list',
    'user create mallory',
    'org list',
    'host list',
    'audit',
    'repair',
    'doctor',
    'table share alice t',
  ]) {
    const { code, out, err } = await cartage(env, ...command.split(' '))
    assert.deepEqual([command, code, out], [command, 1, ''])
    assert.match(err, /^cartage: This is not the secret of the installation: .+\n$/, command)
  }
})

test('it is refused also before any verifier was written: the secret must open the existing tokens', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  await withControl(installation, (control) => control.query('delete from cartage.server_secret'))
  const wrong = environment(installation, { CARTAGE_SECRET: newSecret })
  assert.match((await cartage(wrong, 'user', 'list')).err, /^cartage: This is not the secret/)
  assert.equal((await cartage(environment(installation), 'user', 'list')).out, `${username}\n`)
  assert.match((await cartage(wrong, 'user', 'list')).err, /^cartage: This is not the secret/)
})

test('after a rotation every token works under the new secret, and the old secret is refused', async (t) => {
  const installation = await newInstallation(t)
  const { token, role } = await makeUser(installation)
  const rotated = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: newSecret }),
    'secret',
    'rotate',
  )
  assert.match(rotated.out, /^moved 2 tokens, 0 hosts and 2 role passwords to the new secret\n/, rotated.err)
  const old = await cartage(environment(installation), 'user', 'list')
  assert.match(
    old.err,
    /^cartage: This is not the secret of the installation, which was changed by a rotation on 20/,
  )
  const { url } = await installation.start({ keys: { secret: newSecret } })
  assert.equal(await statusOf(url, token), 200)
  await logIn(installation, role, deriveSecrets(newSecret).rolePassword(role))
  await assert.rejects(
    logIn(installation, role, deriveSecrets(installation.keys.secret).rolePassword(role)),
    {
      code: '28P01',
    },
  )
})

test('a rotation seals the viewer tokens of named maps again', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  const sealed = deriveSecrets(installation.keys.secret).seal('["viewer"]')
  await withControl(installation, (control) =>
    control.query(
      `insert into cartage.map_templates (user_id, name, key_id, template, sealed_tokens, revision)
       select user_id, 'm', id, '{}', $1, 'aaaaaaaa' from cartage.api_keys where type = 'master'`,
      [sealed],
    ),
  )
  const rotated = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: newSecret }),
    'secret',
    'rotate',
  )
  assert.equal(rotated.code, 0, rotated.err)
  await installation.start({ keys: { secret: newSecret } })
  const { rows } = await withControl(installation, (control) =>
    control.query('select sealed_tokens from cartage.map_templates'),
  )
  assert.equal(deriveSecrets(newSecret).open(rows[0].sealed_tokens), '["viewer"]')
})

test('a rotation seals the signing secrets of webhooks again', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  const sealed = deriveSecrets(installation.keys.secret).seal('whsec_secret')
  await withControl(installation, (control) =>
    control.query(
      `insert into cartage.webhooks (user_id, url, events, sealed_secret, include_sql)
       select id, 'http://x.example/', '{job.done}', $1, false from cartage.users`,
      [sealed],
    ),
  )
  const moving = environment(installation, { CARTAGE_NEW_SECRET: newSecret })
  const rotated = await cartage(moving, 'secret', 'rotate')
  assert.equal(rotated.code, 0, rotated.err)
  await installation.start({ keys: { secret: newSecret } })
  const { rows } = await withControl(installation, (control) =>
    control.query('select sealed_secret from cartage.webhooks'),
  )
  assert.equal(deriveSecrets(newSecret).open(rows[0].sealed_secret), 'whsec_secret')
})

test('a rotation seals the addresses of further hosts again, and does not wait for a host that does not answer', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  const url = 'postgres://nobody:password@127.0.0.1:9/postgres'
  const sealed = deriveSecrets(installation.keys.secret).seal(url)
  await withControl(installation, (control) =>
    control.query(`insert into cartage.hosts (name, sealed_url) values ('far', $1)`, [sealed]),
  )
  const rotated = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: newSecret }),
    'secret',
    'rotate',
  )
  assert.match(rotated.out, /^moved 2 tokens, 1 hosts and 2 role passwords/, rotated.err)
  await installation.start({ keys: { secret: newSecret } })
  const { rows } = await withControl(installation, (control) =>
    control.query(`select name, sealed_url, has_old_passwords as behind from cartage.hosts order by id`),
  )
  assert.deepEqual(
    rows.map(({ name, behind }) => [name, behind]),
    [
      ['local', false],
      ['far', true],
    ],
  )
  assert.equal(deriveSecrets(newSecret).open(rows[1].sealed_url), url)
  await withControl(installation, (control) => control.query(`delete from cartage.hosts where name = 'far'`))
})

test('the secret cannot be changed while a process runs, nor to one that is too short or the same', async (t) => {
  const installation = await newInstallation(t)
  const { token } = await makeUser(installation)
  const running = await startProcess(t, installation, ['serve', '--no-worker'])
  const refused = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: newSecret }),
    'secret',
    'rotate',
  )
  assert.equal(refused.code, 1)
  assert.match(
    refused.err,
    /^cartage: Other Cartage processes run on this installation: stop them all, .+\n$/,
  )
  assert.equal(await statusOf(running.url, token), 200)
  assert.equal(await running.stop(), 0)
  const short = await cartage(environment(installation, { CARTAGE_NEW_SECRET: '...' }), 'secret', 'rotate')
  assert.deepEqual(
    [short.code, short.err],
    [1, 'cartage: CARTAGE_NEW_SECRET must have 32 characters or more\n'],
  )
  const same = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: installation.keys.secret }),
    'secret',
    'rotate',
  )
  assert.equal(same.code, 2)
  assert.equal((await cartage(environment(installation), 'user', 'list')).code, 0)
})

test('a token sealed by another secret is named, and the rotation does not happen', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  await withControl(installation, (control) =>
    control.query(`update cartage.api_keys set token_encrypted = '\\x00' where type = 'master'`),
  )
  const { code, err } = await cartage(
    environment(installation, { CARTAGE_NEW_SECRET: newSecret }),
    'secret',
    'rotate',
  )
  assert.equal(code, 1)
  assert.match(err, /^cartage: The secret does not decrypt the token of key \d+: .+\n$/)
  assert.equal((await cartage(environment(installation), 'user', 'list')).code, 0)
})

test('a process that missed a rotation ends as soon as it is notified', async (t) => {
  const installation = await newInstallation(t)
  await makeUser(installation)
  const running = await startProcess(t, installation, ['serve', '--no-worker'])
  await withControl(installation, async (control) => {
    await control.query('update cartage.server_secret set verifier = $1', [deriveSecrets(newSecret).verifier])
    await control.query('notify cartage_accounts')
  })
  assert.equal(await running.ended, 1)
  await withControl(installation, (control) =>
    control.query('update cartage.server_secret set verifier = $1', [
      deriveSecrets(installation.keys.secret).verifier,
    ]),
  )
})

const environment = ({ keys, config }: Installation, changes: Record<string, string> = {}) => ({
  CARTAGE_DATABASE_URL: keys.adminUrl,
  CARTAGE_SECRET: keys.secret,
  CARTAGE_NAMESPACE: config.namespace,
  ...changes,
})

/** A user of an installation that has no running process afterwards. */
async function makeUser(installation: Installation): Promise<{ token: string; role: string }> {
  const service = await installation.start()
  const { masterToken, account } = await createUser(service.services.installation, { username })
  await service.stop()
  return { token: masterToken, role: account.masterRole }
}

async function statusOf(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/user/${username}/api/v2/sql?q=select+1&api_key=${token}`)).status
}

async function logIn({ keys }: Installation, role: string, password: string): Promise<void> {
  const url = new URL(keys.adminUrl)
  url.username = role
  url.password = password
  url.pathname = `/${role}`
  await connected(url, async () => undefined)
}

async function withControl<T>(
  { keys, config }: Installation,
  work: (control: pg.Client) => Promise<T>,
): Promise<T> {
  const url = new URL(keys.adminUrl)
  url.pathname = `/${config.namespace}`
  return connected(url, work)
}

async function connected<T>(url: URL, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
