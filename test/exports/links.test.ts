import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

type Link = { id: string; url: string; expires_at: string }

const post = (user: TestUser, body: object, token = user.masterToken) =>
  fetch(`${user.base}/api/v4/exports?api_key=${token}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

async function link(user: TestUser, body: object, token?: string): Promise<Link> {
  const answer = await post(user, body, token)
  const made = (await answer.json()) as Link
  assert.equal(answer.status, 201, JSON.stringify(made))
  return made
}

async function places(user: TestUser): Promise<void> {
  await user.sql(`create table places (id int, name text); insert into places values (1, 'one'), (2, 'two')`)
}

const codeOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code]
const gone = [404, 'export-not-found']

test('a link downloads the current rows without a key', async (t) => {
  const { user } = await setup(t)
  await places(user)
  const made = await link(user, { q: 'select * from places order by id;', format: 'csv', filename: 'places' })
  assert.match(made.url, new RegExp(`^${user.base}/api/v4/exports/${made.id}/[\\w-]{32}$`))
  const lasts = Date.parse(made.expires_at) - Date.now()
  assert.ok(Math.abs(lasts - 86_400_000) < 60_000, String(lasts))
  await user.sql("insert into places values (3, 'three')")
  const answer = await fetch(made.url)
  assert.equal(await answer.text(), 'id,name\r\n1,one\r\n2,two\r\n3,three\r\n')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="places.csv"')
  assert.equal(answer.headers.get('cache-control'), 'private, no-store')
  const json = await link(user, { q: 'select 1 as n', format: 'json' })
  assert.deepEqual(((await (await fetch(json.url)).json()) as { rows: unknown }).rows, [{ n: 1 }])
})

test('a link runs as the key that created it, and ends with the key and its token', async (t) => {
  const { user } = await setup(t)
  await places(user)
  const keys = keysClient(user)
  const make = async (name: string) => keys.make(name, grantsOf({ places: ['select'] }))
  const reader = await make('reader')
  const first = await link(user, { q: 'select id from places order by id' }, reader.token)
  assert.equal(await (await fetch(first.url)).text(), 'id\r\n1\r\n2\r\n')
  const refused = await post(
    user,
    { q: 'select * from cartodb.cdb_tablemetadata_text, secrets' },
    reader.token,
  )
  assert.equal(refused.status, 400)
  await user.sql('create table secrets (n int)')
  assert.equal((await post(user, { q: 'select * from secrets' }, reader.token)).status, 403)
  await user.sql('alter table places rename to former; alter table secrets rename to places')
  assert.equal((await fetch(first.url)).status, 400, 'the column is not there')
  const other = await make('other')
  const second = await link(user, { q: 'select n from places' }, other.token)
  await keys.regenerate('other')
  assert.deepEqual(await codeOf(await fetch(second.url)), gone)
  await keys.remove('reader')
  assert.deepEqual(await codeOf(await fetch(first.url)), gone)
})

test('a link works for its number of uses and its time, also when many open it at once', async (t) => {
  const started = await setup(t)
  const { user } = started
  const made = await link(user, { q: 'select 1 as n, pg_sleep(0.05)::text', max_downloads: 3 })
  const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(made.url)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 3)
  assert.deepEqual(await codeOf(await fetch(made.url)), gone)
  const failing = await link(user, {
    q: 'select 1 / (select count(*) from made) as n',
    max_downloads: 1,
  }).catch(() => undefined)
  assert.equal(failing, undefined, 'the table does not exist')
  await user.sql('create table made (n int)')
  const late = await link(user, { q: 'select 1 / (select count(*) from made) as n', max_downloads: 1 })
  assert.equal((await fetch(late.url)).status, 400)
  await user.sql('insert into made values (1)')
  assert.equal((await fetch(late.url)).status, 200, 'a download that failed did not count')
  assert.equal((await fetch(late.url)).status, 404)
  const short = await link(user, { q: 'select 1 as n', expires_in: 3600 })
  await expire(started, short.id)
  assert.deepEqual(await codeOf(await fetch(short.url)), gone)
})

const expire = ({ admin, service }: Setup, id: string) =>
  admin(
    `update cartage.exports set expires_at = clock_timestamp() - interval '1 second' where id = '${id}'`,
    [],
    service.services.config.namespace,
  )

test('links are listed and withdrawn by their key and by the master key', async (t) => {
  const started = await setup(t)
  const { user } = started
  await places(user)
  const { token } = await keysClient(user).make('reader', grantsOf({ places: ['select'] }))
  const own = await link(user, { q: 'select name from places', format: 'ndjson' }, token)
  const ofMaster = await link(user, { q: 'select 2 as two', max_downloads: 5 })
  const master = clientOf(t, started)
  const reader = clientOf(t, started, { token })
  const ids = async (client: typeof master) => (await client.exports.list()).exports.map(({ id }) => id)
  assert.deepEqual(await ids(master), [ofMaster.id, own.id])
  const [listed] = (await reader.exports.list()).exports
  assert.deepEqual(
    { ...listed, created_at: '', expires_at: '' },
    {
      id: own.id,
      q: 'select name from places',
      format: 'ndjson',
      filename: null,
      key: 'reader',
      downloads: 0,
      max_downloads: null,
      created_at: '',
      expires_at: '',
    },
  )
  await assert.rejects(reader.exports.withdraw(ofMaster.id), { code: 'export-not-found' })
  await master.exports.withdraw(own.id)
  assert.deepEqual(await codeOf(await fetch(own.url)), gone)
  assert.deepEqual(await ids(reader), [])
})

test('an unknown link is not found, and an impossible one cannot be created', async (t) => {
  const { user, createUser } = await setup(t)
  const stranger = await createUser()
  await user.sql('create table kept (n int)')
  const made = await link(user, { q: 'select 1 as n' })
  const [secret] = made.url.split('/').slice(-1)
  for (const url of [
    made.url.replace(user.base, stranger.base),
    `${user.base}/api/v4/exports/${made.id}/${'x'.repeat(32)}`,
    `${user.base}/api/v4/exports/${made.id.replace(/^./, (c) => (c === '0' ? '1' : '0'))}/${secret}`,
    `${user.base}/api/v4/exports/none/${secret}`,
  ])
    assert.deepEqual(await codeOf(await fetch(url)), gone, url)
  for (const [body, status] of [
    [{ q: 'delete from places' }, 400],
    [{ q: 'select 1; select 2' }, 400],
    [{ q: 'select 1 into t' }, 400],
    // Opening the link would write.
    [{ q: 'with w as (insert into kept values (1) returning n) select n from w' }, 400],
    [{ q: '' }, 400],
    [{}, 400],
    [{ q: 'select * from nothing' }, 400],
    [{ q: 'select 1', format: 'pdf' }, 400],
    [{ q: 'select 1', expires_in: 604_801 }, 400],
    [{ q: 'select 1', expires_in: 0 }, 400],
    [{ q: 'select 1', max_downloads: 'many' }, 400],
  ] as const)
    assert.equal((await post(user, body)).status, status, JSON.stringify(body))
  assert.equal((await post(user, { q: 'select 1' }, 'wrong')).status, 401)
  assert.equal((await post(user, { q: 'select 1' }, 'default_public')).status, 403)
  const deleted = await fetch(`${stranger.base}/api/v4/exports/${made.id}?api_key=${stranger.masterToken}`, {
    method: 'DELETE',
  })
  assert.deepEqual(await codeOf(deleted), gone)
  assert.equal((await fetch(made.url)).status, 200)
})
