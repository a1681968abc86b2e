import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import type { Grant } from '../../../src/contract/documents.ts'
import { basic, eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { inShell } from '../support/in-shell.ts'
import { openConsole } from '../support/open-console.ts'

const permissions = ['select', 'insert', 'update', 'delete'] as const

test('a new key can do exactly what "What may this key do?" says, and its curl commands prove it', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql('create table places (n int); create table notes (n int); create table secrets (n int)')
  await user.sql('create table open_data (n int); grant select on open_data to public')
  await signInAt('/keys/new')
  await page.getByRole('textbox', { name: 'Name' }).fill('reader')
  for (const label of ['select on places', 'select on notes', 'insert on notes']) {
    await page.getByLabel(label).check()
  }
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('heading', { name: 'reader', exact: true }).waitFor()

  assert.deepEqual(await shownRights(page), {
    notes: 'own own no no',
    open_data: 'public no no no',
    places: 'own no no no',
    secrets: 'no no no no',
  })
  const token = await copyToken(page)
  const works = await page.getByRole('region', { name: 'A request that works' }).innerText()
  const refused = await page.getByRole('region', { name: 'A request that is refused' }).innerText()
  assert.ok(!works.includes(token))
  assert.deepEqual(JSON.parse(await inShell(works, token)).rows, [{ count: 0 }])
  assert.match(JSON.parse(await inShell(refused, token)).error[0], /permission denied/)
  for (const [table, shown] of Object.entries(await shownRights(page))) {
    const answers = await Promise.all(permissions.map((each) => isAllowed(user, token, table, each)))
    const claims = shown.split(' ').map((mark) => mark !== 'no')
    assert.deepEqual(answers, claims, table)
  }
  await page.getByRole('link', { name: 'Run SQL as this key' }).click()
  await page.getByRole('button', { name: 'Run as reader' }).waitFor()
})

test('grants, description and expiry of a key are changed in place, and its token stays', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql('create table places (n int); create table notes (n int)')
  const client = createClient({
    baseUrl: new URL(user.base).origin,
    username: user.username,
    token: user.masterToken,
  })
  t.after(() => client.close())
  const places = { schema: 'public', name: 'places', permissions: ['select'] } as const
  const { token } = await client.keys.create({
    name: 'reader',
    grants: [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables: [places] },
    ],
  })
  await signInAt('/keys/reader')
  await page.getByText('last used never').waitFor()
  await page.getByLabel('Description').fill('Of the hall')
  await page.getByLabel('Expires').fill('2099-01-31T10:00')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/expires .*2099/).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: 'Change grants' }).click()
  await page.getByLabel('select on places').uncheck()
  await page.getByLabel('select on notes').check()
  await assertAccessible(page)
  await page.getByRole('button', { name: 'Save grants' }).click()
  await page.getByRole('heading', { name: 'reader', exact: true }).waitFor()
  const changed = await client.keys.details('reader')
  assert.deepEqual([changed.token, changed.description], [token, 'Of the hall'])
  assert.match(changed.expires_at!, /^2099-01-3/)
  assert.deepEqual(
    await Promise.all(['places', 'notes'].map((table) => isAllowed(user, token, table, 'select'))),
    [false, true],
  )
})

test('a statement tried as a key runs with its rights and is rolled back', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql('create table t (n int); insert into t values (7)')
  await keys(user).create({ name: 'writer', grants: grantsOn('t', ['select', 'insert']) })
  await signInAt('/keys/writer')
  const tried = async (text: string) => {
    await page.getByRole('textbox', { name: 'Statement' }).fill(text)
    await page.getByRole('button', { name: 'Try it' }).click()
  }
  await tried('insert into t values (8) returning n as inserted')
  await page.getByText('Allowed: 1 row. Rolled back').waitFor()
  await page.getByRole('columnheader', { name: 'inserted' }).waitFor()
  await tried('delete from t')
  await page.getByText('permission denied for table t').waitFor()
  await tried('insert into t values (9); commit')
  await page.getByText('Enter one statement').waitFor()
  await tried("select repeat('x', 1000000)")
  await page.getByText('The answer is long').waitFor()
  assert.deepEqual((await user.sql('select n from t')).rows, [{ n: 7 }])
})

test('the form offers only rights that apply; a copy of an old key can keep the others', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  const old: Grant[] = [
    { type: 'apis', apis: ['sql', 'maps'] },
    { type: 'dataservices', services: ['geocoding'] },
  ]
  await keys(user).create({ name: 'old', grants: old })
  await signInAt('/keys/new')
  await page.getByRole('group', { name: 'APIs' }).waitFor()
  const offered = () =>
    page
      .getByRole('group', { name: /APIs|Data services/ })
      .locator('label')
      .allInnerTexts()
  assert.deepEqual(await offered(), ['sql'])
  await goTo('/keys/old/duplicate')
  await page.getByRole('group', { name: 'Data services' }).waitFor()
  assert.deepEqual(await offered(), ['sql', 'maps', 'geocoding'])
  await page.getByLabel('geocoding').uncheck()
  await page.getByLabel('maps').uncheck()
  assert.deepEqual(await offered(), ['sql', 'maps', 'geocoding'])
})

test('a token is hidden until shown; a new token and deletion ask for the name of the key', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  const { token } = await keys(user).create({ name: 'robot', grants: grantsOn() })
  await signInAt('/keys')
  await page.getByRole('link', { name: 'robot' }).click()
  const shown = page.getByTestId('token')
  assert.ok(!(await shown.innerText()).includes(token))
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  assert.equal(await shown.innerText(), token)
  await page.getByLabel('Include the token').check()
  for (const name of ['curl', 'carto-python', 'GDAL', 'JavaScript']) {
    await page.getByRole('tab', { name }).click()
    assert.ok((await page.getByRole('region', { name: 'Example for' }).innerText()).includes(token), name)
  }

  await page.getByRole('button', { name: 'New token' }).click()
  const confirm = page.getByRole('button', { name: 'Create new token' })
  assert.ok(await confirm.isDisabled())
  await assertAccessible(page)
  await page.getByLabel('Type robot to confirm').fill('robot')
  await page.keyboard.press('Enter')
  await eventually(async () => assert.notEqual(await shown.innerText(), token))
  assert.equal((await keys(user).read('robot')).token, await shown.innerText())
  assert.equal(await isAllowedAtAll(user, token), false)

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByLabel('Type robot to confirm').fill('robot')
  await page.getByRole('button', { name: 'Delete key' }).click()
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await page.getByText('These two keys came with the account').waitFor()
  await assert.rejects(keys(user).read('robot'), /not found/)
  await goTo('/keys/robot')
  await page.getByText('It may have been deleted').waitFor()
})

test('a user who renews their own Master token stays signed in', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await signInAt('/keys/Master')
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByLabel('Type Master to confirm').fill('Master')
  await page.keyboard.press('Enter')
  await page.locator('.toast', { hasText: 'New token created' }).waitFor()
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click()
  await page.getByText('These two keys came with the account').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.equal(await isAllowedAtAll(user, user.masterToken), false)
})

test('an invalid field of a new key shows its error, and a duplicate key has the same rights', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  await signInAt('/keys/new')
  await page.getByText('No tables yet').waitFor()
  await user.sql('create table t (n int)')
  await keys(user).create({ name: 'new', grants: grantsOn('t', ['select', 'update'], ['public']) })
  await goTo('/keys')
  await page.getByRole('link', { name: 'new', exact: true }).click()
  await page.getByRole('link', { name: 'Duplicate' }).click()
  assert.ok(await page.getByLabel('update on t').isChecked())
  assert.ok(await page.getByLabel('public', { exact: true }).isChecked())
  await page.getByRole('textbox', { name: 'Name' }).fill('new')
  await page.getByRole('button', { name: 'Create key' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  await page.getByText('has already been taken').waitFor()
  assert.equal(await name.getAttribute('aria-invalid'), 'true')
  await user.sql('drop table t')
  await name.fill('other')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('can only grant table permissions you have').waitFor()
  await page.getByLabel('update on t').uncheck()
  await page.getByLabel('select on t').uncheck()
  await page.getByLabel('sql', { exact: true }).uncheck()
  await page.getByText('Without sql the key cannot run any statement').waitFor()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('does not have the sql API').waitFor()
})

test('names with markup, script or emoji stay text and work', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  const table = `"'<img src=x onerror=alert(1)>`
  const key = `<script>alert("1")</script>/'😀%2f#?`
  await user.sql(`create table "${table.replaceAll('"', '""')}" (n int)`)
  await signInAt('/keys/new')
  await page.getByRole('textbox', { name: 'Name' }).fill(key)
  await page.getByRole('button', { name: 'Read all' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('heading', { name: key }).waitFor()
  assert.deepEqual(await shownRights(page), { [`"${table.replaceAll('"', '""')}"`]: 'own no no no' })
  const works = await page.getByRole('region', { name: 'A request that works' }).innerText()
  assert.deepEqual(JSON.parse(await inShell(works, await copyToken(page))).rows, [{ count: 0 }])
  await page.reload()
  await page.getByRole('heading', { name: key }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByLabel('to confirm').fill(key)
  await page.keyboard.press('Enter')
  await page.getByText('These two keys came with the account').waitFor()
})

test("an organization's owner creates a key for a member with the member's rights, and sees what it runs", async (t) => {
  const { page, signIn, goTo, createOrganization, createUser } = await openConsole(t)
  const { name: organization, owner } = await createOrganization()
  const member = await createUser({ organization })
  await member.sql('create table theirs (n int)')
  await signIn(owner)
  await goTo('/keys')
  await page.getByLabel('Keys of a member').fill('nobody-here')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByText(`User 'nobody-here' not found`).waitFor()
  await page.getByLabel('Keys of a member').fill(member.username)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('heading', { name: `Keys of ${member.username}` }).waitFor()
  await page.getByRole('link', { name: 'New key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('for-them')
  await page.getByLabel('theirs').first().check()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('heading', { name: 'for-them' }).waitFor()
  assert.match(Object.values(await shownRights(page)).join(), /^own no no no/)
  const made = await keys(member).read('for-them')
  assert.equal(made.name, 'for-them')
  const panel = page.getByRole('region', { name: 'Activity', exact: true })
  await panel.getByText('Nothing runs with this key now. Last used').waitFor()
  const left = new AbortController()
  t.after(() => left.abort())
  const sql = 'select pg_sleep(600)'
  const answer = fetch(`${member.base}/api/v2/sql?q=${encodeURIComponent(sql)}&api_key=${made.token}`, {
    signal: left.signal,
  })
  const ended = answer.catch(() => undefined)
  await panel.getByRole('cell', { name: sql, exact: true }).waitFor()
  left.abort()
  await ended
})

test('without the Master key the page of keys says that it is needed', async (t) => {
  const { page, signIn, goTo, user } = await openConsole(t)
  const { token } = await keys(user).create({ name: 'small', grants: grantsOn() })
  await signIn(user, token)
  await goTo('/keys')
  await page.getByText('This page needs the Master key').waitFor()
})

test('the key pages are accessible, and a key is created without a mouse', async (t) => {
  const { page, goTo, user, signInAt } = await openConsole(t)
  await user.sql('create table places (n int); create view seen as select * from places')
  await keys(user).create({ name: 'a'.repeat(255), grants: grantsOn('places', ['select'], ['public']) })
  // Not on the SQL page: the editor would take the keys.
  await signInAt('/account')
  await page.getByText('Signed in with the Master key').waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await page.getByRole('link', { name: 'aaaa' }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.keyboard.press('Alt+n')
  await page.getByRole('textbox', { name: 'Name' }).focus()
  await page.keyboard.type('typed')
  await page.getByLabel('select on places').focus()
  await page.keyboard.press('Space')
  await assertAccessibleEverywhere(page)
  await page.getByRole('textbox', { name: 'Name' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'typed', exact: true }).waitFor()
  await page.getByRole('row', { name: /^places/ }).waitFor()
  await assertAccessibleEverywhere(page)
  await goTo(`/keys/${'a'.repeat(255)}`)
  await page.getByRole('row', { name: /^places/ }).waitFor()
  await assertAccessibleEverywhere(page)
})

test('the page of a key shows what it runs now, and the list when it was last used', async (t) => {
  const { page, user, signInAt } = await openConsole(t, { setup: { config: { queryTimeoutMs: 300_000 } } })
  const client = createClient({
    baseUrl: new URL(user.base).origin,
    username: user.username,
    token: user.masterToken,
  })
  t.after(() => client.close())
  const { token } = await client.keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  await signInAt('/keys/reader')
  const panel = page.getByRole('region', { name: 'Activity', exact: true })
  await panel.getByText('Nothing runs with this key now. Last used never.').waitFor()
  const left = new AbortController()
  t.after(() => left.abort())
  const sql = `select pg_sleep(600), '<b>' as mark`
  const headers = { authorization: `Basic ${btoa(`${user.username}:${token}`)}` }
  const answer = fetch(`${user.base}/api/v2/sql?q=${encodeURIComponent(sql)}`, {
    headers,
    signal: left.signal,
  })
  const ended = answer.catch(() => undefined)
  await panel.getByRole('cell', { name: sql, exact: true }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: 'Keys' }).last().click()
  await page.getByRole('link', { name: 'Master', exact: true }).click()
  await panel.getByText('Nothing runs with this key now.').waitFor()
  left.abort()
  await ended
  // Written with the next batch, by the process that served it.
  await eventually(async () => assert.notEqual((await keys(user).details('reader')).last_used_at, null))
  await page.goBack()
  await page.getByRole('link', { name: 'reader', exact: true }).click()
  await panel.getByText(/^Nothing runs with this key now\. Last used (just now|\d+ min ago)/).waitFor()
})

const keys = (user: TestUser) =>
  createClient({
    baseUrl: new URL(user.base).origin,
    username: user.username,
    token: user.masterToken,
  }).keys

function grantsOn(
  table?: string,
  given: readonly (typeof permissions)[number][] = [],
  schemas: readonly string[] = [],
): Grant[] {
  return [
    { type: 'apis', apis: ['sql'] },
    {
      type: 'database',
      tables: table ? [{ schema: 'public', name: table, permissions: given }] : [],
      schemas: schemas.map((name) => ({ name, permissions: ['create'] })),
    },
  ]
}

/** The answer to "What may this key do?", by table. */
async function shownRights(page: Page): Promise<Record<string, string>> {
  const panel = page.getByRole('region', { name: 'What may this key do?' })
  await panel.getByRole('rowheader').first().waitFor()
  const lines = await panel
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')))
  return Object.fromEntries(lines.map(([table, ...marks]) => [table, marks.join(' ')]))
}

async function copyToken(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Copy token' }).click()
  return eventually(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(text, /^cartage_/)
    return text
  })
}

/** Tries it over the API, outside the console. */
async function isAllowed(
  user: TestUser,
  token: string,
  table: string,
  permission: (typeof permissions)[number],
) {
  const statement = {
    select: `select * from ${table}`,
    insert: `insert into ${table} values (1)`,
    update: `update ${table} set n = 1`,
    delete: `delete from ${table}`,
  }[permission]
  const { status } = await query(user, token, statement)
  assert.ok(status === 200 || status === 403, `${statement}: ${status}`)
  return status === 200
}

const isAllowedAtAll = async (user: TestUser, token: string) =>
  (await query(user, token, 'select 1')).status === 200

const query = ({ base, username }: TestUser, token: string, q: string) =>
  fetch(`${base}/api/v2/sql?${new URLSearchParams({ q })}`, { headers: basic(username, token) })
