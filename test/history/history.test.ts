import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { listAudit } from '../../src/audit/audit-store.ts'
import type { Client } from '../../src/client/client.ts'
import { keepHistory } from '../../src/history/keep-history.ts'
import { noteReading } from '../../src/history/note-reading.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { basic, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test("a recorded statement is in its key's history in every browser, once, until it is deleted", async (t) => {
  const { client, again } = await house(t)
  const id = randomUUID()
  const token = `cartage_${'x'.repeat(51)}`
  const first = { id, text: `select '${token}' as ä\n-- €`, outcome: 'done', ms: 12, rows: 3 } as const
  for (let round = 0; round < 2; round++) assert.deepEqual(await client.add(first), { id, kept: true })
  await client.add({ text: 'SELEKT 1', outcome: 'failed', ms: 0, code: '42601' })
  await client.add({ text: 'select pg_sleep(9)', outcome: 'stopped', ms: 9_000 })
  const { statements, next, kept_days } = await again().list()
  assert.deepEqual(
    statements.map(({ text, outcome, rows, code, ms }) => [text, outcome, rows, code, ms]),
    [
      ['select pg_sleep(9)', 'stopped', null, null, 9_000],
      ['SELEKT 1', 'failed', null, '42601', 0],
      ["select 'cartage_***' as ä\n-- €", 'done', 3, null, 12],
    ],
  )
  const { at, ...rest } = statements[2]!
  assert.ok(Math.abs(Date.now() - Date.parse(at)) < 120_000, at)
  assert.deepEqual([rest.id, rest.key, rest.text_is_cut, next, kept_days], [id, 'Master', false, null, 90])
  const found = await client.list({ search: 'SELECT' })
  assert.deepEqual(texts(found), [statements[0]!.text, statements[2]!.text])
  assert.deepEqual(texts(await client.list({ search: '%' })), [])
  const page = await client.list({ limit: 2 })
  assert.deepEqual(texts(page), ['select pg_sleep(9)', 'SELEKT 1'])
  assert.deepEqual(texts(await client.list({ limit: 2, before: page.next! })), [statements[2]!.text])
  for (let round = 0; round < 2; round++) await client.delete(statements[1]!.id)
  assert.equal((await client.list()).statements.length, 2)
  await client.clear()
  assert.deepEqual(texts(await again().list()), [])
})

test("a key sees its own statements, the master key also those of other keys, and no account another's", async (t) => {
  const { client: master, keyClient, bundle } = await house(t)
  const reader = await keyClient('reader')
  const writer = await keyClient('writer')
  await reader.add({ text: 'select 1', outcome: 'done', ms: 1 })
  await master.add({ text: 'select 2', outcome: 'done', ms: 1, key: 'reader' })
  await master.add({ text: 'select 3', outcome: 'done', ms: 1, key: 'Default public' })
  assert.deepEqual(texts(await reader.list()), ['select 1'])
  assert.deepEqual(texts(await writer.list()), [])
  const own = await master.list()
  assert.deepEqual(texts(own), ['select 3', 'select 2'])
  assert.deepEqual(
    own.statements.map(({ key }) => key),
    ['Default public', 'reader'],
  )
  assert.deepEqual(texts(await master.list({ key: 'reader' })), ['select 2', 'select 1'])
  assert.deepEqual(texts(await master.list({ key: 'Master' })), [])
  const [mastersEntry, readersEntry] = (await master.list({ key: 'reader' })).statements
  await writer.delete(readersEntry!.id)
  await reader.delete(mastersEntry!.id)
  await assert.rejects(reader.list({ key: 'writer' }), { status: 403 })
  await assert.rejects(reader.list({ key: 'reader' }), { status: 403 })
  await assert.rejects(writer.clear({ key: 'reader' }), { status: 403 })
  const lie = { text: 'select 4', outcome: 'done', ms: 1, key: 'writer' } as const
  await assert.rejects(reader.add(lie), { status: 403 })
  await reader.add({ ...lie, key: 'Default public' })
  assert.deepEqual(texts(await reader.list()), ['select 4', 'select 1'])
  await assert.rejects(master.add({ ...lie, key: 'none' }), { status: 404, code: 'key-not-found' })
  await assert.rejects(master.list({ key: 'none' }), { status: 404, code: 'key-not-found' })
  assert.deepEqual(texts(await master.list({ key: 'reader' })), ['select 2', 'select 1'])
  const other = await bundle.createUser()
  for (const headers of [
    {},
    basic('default_public', 'default_public'),
    basic(other.username, other.masterToken),
  ])
    for (const method of ['GET', 'DELETE']) {
      const { status } = await fetch(`${bundle.user.base}/api/v4/history`, { method, headers })
      assert.ok(status === 401 || status === 403, `${method} ${status}`)
    }
  await historyFor(t, bundle, other).delete(readersEntry!.id)
  await master.delete(readersEntry!.id)
  assert.deepEqual(texts(await master.list({ key: 'reader' })), ['select 2'])
})

test('what the master key deletes of other keys is in the audit record, with the number of statements', async (t) => {
  const { client: master, keyClient, bundle } = await house(t)
  const reader = await keyClient('reader')
  for (const text of ['select 1', 'select 2', 'select 3']) await reader.add({ text, outcome: 'done', ms: 1 })
  await master.add({ text: 'select 4', outcome: 'done', ms: 1 })
  const [newest] = (await master.list({ key: 'reader' })).statements
  for (const _ of ['once', 'again']) await master.delete(newest!.id)
  for (const _ of ['once', 'again']) await master.clear({ key: 'reader' })
  assert.deepEqual(texts(await reader.list()), [])
  // One's own history is nobody else's matter.
  await reader.add({ text: 'select 5', outcome: 'done', ms: 1 })
  await reader.clear()
  await master.clear({ key: 'Master' })
  const records = await listAudit(bundle.service.services.databases.control, {
    account: bundle.user.username,
    action: 'history.deleted',
    limit: 10,
  })
  const { username } = bundle.user
  assert.deepEqual(
    records.map(({ actor, subject, details }) => [actor, subject, details.statements]),
    [
      [username, 'reader', 2],
      [username, 'reader', 1],
    ],
  )
})

test("owners of an organization see what a member's key ran, and members nothing of each other", async (t) => {
  const bundle = await setup(t)
  const { name, owner } = await bundle.createOrganization()
  const [anna, ben] = [
    await bundle.createUser({ organization: name }),
    await bundle.createUser({ organization: name }),
  ]
  await historyFor(t, bundle, anna).add({ text: 'select anna', outcome: 'done', ms: 1 })
  const ofAnna = { key: 'Master', target_user: anna.username }
  for (const _ of ['once', 'again'])
    assert.deepEqual(texts(await historyFor(t, bundle, owner).list(ofAnna)), ['select anna'])
  await historyFor(t, bundle, anna).list({ key: 'Master' })
  const recorded = async () => {
    const records = await listAudit(bundle.service.services.databases.control, {
      account: anna.username,
      action: 'history.read',
      limit: 10,
    })
    return records.map(({ actor, subject }) => `${actor} ${subject}`)
  }
  assert.deepEqual(await recorded(), [`${owner.username} Master`])
  await assert.rejects(historyFor(t, bundle, ben).list(ofAnna), { status: 403 })
  const stranger = await bundle.createUser()
  await assert.rejects(historyFor(t, bundle, stranger).list(ofAnna), { status: 403 })
  await assert.rejects(historyFor(t, bundle, owner).list({ target_user: anna.username }), { status: 400 })
  const clear = await fetch(`${owner.base}/api/v4/history?key=Master&target_user=${anna.username}`, {
    method: 'DELETE',
    headers: basic(owner.username, owner.masterToken),
  })
  assert.equal(clear.status, 400)
  assert.equal((await historyFor(t, bundle, anna).list()).statements.length, 1)
  const control = new pg.Pool({
    connectionString: withDatabase(bundle.keys.adminUrl, bundle.service.services.installation.namespace),
  })
  t.after(() => control.end())
  const reading = { reader: owner.username, member: anna.username, key: 'Master', address: '127.0.0.1' }
  // As another process, whose memory is empty.
  await noteReading(control, reading)
  await noteReading(control, { ...reading, reader: 'another' })
  assert.deepEqual(await recorded(), ['another Master', `${owner.username} Master`])
})

test('the newest 500 statements of a key are kept, each with 20,000 characters, for 90 days', async (t) => {
  const { client, keyClient, control } = await house(t, { isIsolated: true })
  const reader = await keyClient('reader')
  await reader.add({ text: 'select 0', outcome: 'done', ms: 1 })
  const key = `(select key_id from cartage.statement_history limit 1)`
  await control(`insert into cartage.statement_history (key_id, id, ran_as, text, is_cut, outcome, run_ms)
    select ${key}, gen_random_uuid(), ${key}, 'select ' || n, false, 'done', 1 from generate_series(1, 498) n`)
  await client.add({ text: 'select master', outcome: 'done', ms: 1 })
  const told = Array.from({ length: 20 }, (_, n) =>
    reader.add({ text: `select new_${n}`, outcome: 'done', ms: 1 }),
  )
  await Promise.all(told)
  const id = randomUUID()
  for (let round = 0; round < 3; round++) await reader.add({ id, text: 'last', outcome: 'done', ms: 1 })
  const all: string[] = []
  for (let before: number | undefined; ; ) {
    const page = await reader.list({ limit: 200, before })
    all.push(...texts(page))
    if (page.next === null) break
    before = page.next
  }
  assert.deepEqual([all.length, all[0], all.at(-1)], [500, 'last', 'select 20'])
  assert.deepEqual(texts(await client.list()), ['select master'])
  const long = `${'x'.repeat(19_999)}😀${'y'.repeat(600_000)}`
  await client.add({ text: long, outcome: 'done', ms: 1 })
  const [cut] = (await client.list()).statements
  assert.deepEqual([cut!.text, cut!.text_is_cut], ['x'.repeat(19_999), true])
  await control(
    `update cartage.statement_history set noted_at = noted_at - interval '90 days' where text <> 'last'`,
  )
  assert.deepEqual(texts(await reader.list()), ['last'])
  const { databases, log } = client.services
  await keepHistory(databases, 90, log).now()
  assert.deepEqual((await control('select text from cartage.statement_history')).rows, [{ text: 'last' }])
})

test('anything but a statement is refused with a reason and changes nothing', async (t) => {
  const { client, bundle } = await house(t)
  const { user } = bundle
  const headers = { ...basic(user.username, user.masterToken), 'content-type': 'application/json' }
  const tell = async (body: unknown, path = '') => {
    const answer = await fetch(`${user.base}/api/v4/history${path}`, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return [answer.status, ((await answer.json()) as { error: string[] }).error[0]] as const
  }
  const good = { id: randomUUID(), text: 'select 1', outcome: 'done', ms: 1 }
  for (const [change, reason] of badStatements) {
    const [status, text] = await tell({ ...good, ...change })
    assert.equal(status, 400, JSON.stringify(change).slice(0, 100))
    assert.match(text!, reason)
  }
  for (const body of ['[]', 'null', '"select 1"', '{']) assert.equal((await tell(body))[0], 400, body)
  assert.equal((await tell({ ...good, text: 'x'.repeat(600_000) }))[0], 413)
  const ask = (path: string, method = 'GET') =>
    fetch(`${user.base}/api/v4/history${path}`, { method, headers })
  for (const query of badQueries) assert.equal((await ask(query)).status, 400, query)
  await client.add({ text: 'select kept', outcome: 'done', ms: 1 })
  for (const path of ['?id=1', '?keys=Master', '?key=Master&key=x', '/none', '/%00'])
    assert.equal((await ask(path, 'DELETE')).status, 400, path)
  assert.equal((await ask('?key=', 'DELETE')).status, 404)
  assert.deepEqual(texts(await client.list()), ['select kept'])
})

const badStatements: readonly (readonly [object, RegExp])[] = [
  [{ id: undefined }, /^id must be/],
  [{ id: 'none' }, /^id must be/],
  [{ id: 7 }, /^id must be/],
  [{ text: undefined }, /^text must be/],
  [{ text: ' \n' }, /^text must be/],
  [{ text: ['select 1'] }, /^text must be/],
  [{ text: 'select \0' }, /NUL/],
  [{ text_is_cut: 'no' }, /^text_is_cut must be/],
  [{ outcome: 'well' }, /^outcome must be/],
  [{ outcome: undefined }, /^outcome must be/],
  [{ ms: undefined }, /^ms must be/],
  [{ ms: -1 }, /^ms must be/],
  [{ ms: 1.5 }, /^ms must be/],
  [{ ms: '1' }, /^ms must be/],
  [{ rows: 1e16 }, /^rows must be/],
  [{ rows: true }, /^rows must be/],
  [{ code: 7 }, /^code must be/],
  [{ code: 'x'.repeat(64) }, /^code must be/],
  [{ code: 'relation "secret" does not exist' }, /^code must be/],
  [{ key: 1 }, /^key must be/],
  [{ at: '2026-01-01' }, /^Unknown member: at/],
  [{ __proto__x: 1 }, /^Unknown member/],
]

const badQueries = [
  '?limit=0',
  '?limit=201',
  '?limit=x',
  '?before=-1',
  '?before=1.5',
  '?before=99999999999999999',
  '?page=2',
  '?search=a&search=b',
  '?search=%00',
  `?search=${'x'.repeat(101)}`,
]

test('deleting a key deletes its history, but not what the master key ran with it', async (t) => {
  const { client: master, keyClient, bundle, control } = await house(t)
  const reader = await keyClient('reader')
  await reader.add({ text: 'select 1', outcome: 'done', ms: 1 })
  await master.add({ text: 'select 2', outcome: 'done', ms: 1, key: 'reader' })
  await clientOf(t, bundle).keys.delete('reader')
  await assert.rejects(reader.list(), { status: 401 })
  const { statements } = await master.list()
  assert.deepEqual(
    statements.map(({ text, key }) => [text, key]),
    [['select 2', null]],
  )
  await keyClient('reader')
  assert.deepEqual(texts(await master.list({ key: 'reader' })), [])
  const { username } = bundle.user
  const left = async () =>
    (
      await control(
        `select text from cartage.statement_history h join cartage.api_keys k on k.id = h.key_id
         join cartage.users u on u.id = k.user_id where u.username = '${username}'`,
      )
    ).rows
  assert.deepEqual(await left(), [{ text: 'select 2' }])
  await deleteUser(bundle.service.services.installation, username)
  assert.deepEqual(await left(), [])
})

test('an operator can switch the history off, and what was stored before is deleted', async (t) => {
  const { client, control } = await house(t, { isIsolated: true, config: { historyDays: 0 } })
  const told = await client.add({ text: 'select 1', outcome: 'done', ms: 1 })
  assert.equal(told.kept, false)
  assert.deepEqual(await client.list(), { kept_days: 0, statements: [], next: null })
  await control(`insert into cartage.statement_history (key_id, id, ran_as, text, is_cut, outcome, run_ms)
    select id, gen_random_uuid(), id, 'select 2', false, 'done', 1 from cartage.api_keys`)
  assert.deepEqual((await client.list()).statements, [])
  const { databases, log } = client.services
  await keepHistory(databases, 0, log).now()
  assert.equal((await control('select from cartage.statement_history')).rowCount, 0)
})

type History = Client['history']

const texts = ({ statements }: Awaited<ReturnType<History['list']>>) => statements.map(({ text }) => text)

const historyFor = (t: TestContext, { url }: Setup, user: TestUser, token = user.masterToken): History =>
  clientOf(t, { url, user }, { token }).history

async function house(t: TestContext, options: Parameters<typeof setup>[1] = {}) {
  const bundle = await setup(t, options)
  const { user, service } = bundle
  const { databases, log } = service.services
  const keys = clientOf(t, bundle).keys
  const again = () => historyFor(t, bundle, user)
  const keyClient = async (name: string) => {
    const { token } = await keys.create({ name, grants: [{ type: 'apis', apis: ['sql'] }] })
    return historyFor(t, bundle, user, token)
  }
  const client = { ...again(), services: { databases, log } }
  return { bundle, client, again, keyClient, control: (text: string) => databases.control.query(text) }
}
