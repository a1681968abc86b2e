import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells } from '../support/sql-page.ts'

const hostile = `Odd "na'me"; --\\`
const quoted = `"${hostile.replaceAll('"', '""')}"`

const makePlaces = (user: TestUser) =>
  user.sql(`create type kind as enum ('small', 'large');
    create table places (id int primary key, ${quoted} text not null, n numeric(6,2), kind kind, ok boolean, day date, doc jsonb,
      at geometry(Point, 4326), twice int generated always as (id * 2) stored);
    insert into places select i, 'place ' || i, i, 'small', true, '2026-01-31', '{"a": 1}', st_point(i, i, 4326) from generate_series(1, 5) i;
    create function public.st_asewkt(geometry) returns text language sql as 'select (1 / 0)::text'`)

const dialog = (page: Page) => page.getByRole('dialog')
const sqlIn = (page: Page) => dialog(page).getByRole('region', { name: /^SQL/ }).innerText()

/** Moves to a cell by keys and opens its form. */
async function edit(page: Page, row: number, column: number): Promise<Locator> {
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+Home')
  for (let at = 0; at < row; at++) await page.keyboard.press('ArrowDown')
  for (let at = 0; at < column; at++) await page.keyboard.press('ArrowRight')
  await page.keyboard.press('e')
  return dialog(page)
}

async function save(page: Page, act = 'Save'): Promise<void> {
  await dialog(page).getByRole('button', { name: act, exact: true }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

const rowsOf = async (user: TestUser, text: string) => (await user.sql(text)).rows

test('a cell is edited in a form of its type that shows the UPDATE, and undone; a conflict shows both values', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await makePlaces(user)
  await signInAt('/tables/public/places/preview')
  await eventually(async () => assert.equal((await cells(page)).length, 5))

  const form = await edit(page, 1, 1)
  const field = form.getByLabel(hostile, { exact: true })
  assert.equal(await field.inputValue(), 'place 2')
  await field.fill(`it's "2" \\ $1`)
  const shown = await sqlIn(page)
  assert.match(
    shown,
    /^UPDATE "public"\."places"\nSET "Odd ""na'me""; --\\" = {2}E'it''s "2" \\\\ \$1'\nWHERE ctid OPERATOR/,
  )
  assert.equal(await form.getByLabel(/^NULL/).count(), 0)
  await assertAccessibleEverywhere(page)
  await page.keyboard.press('Control+Enter')
  await form.waitFor({ state: 'detached' })
  assert.deepEqual(await rowsOf(user, `select ${quoted} as v from places where id = 2`), [
    { v: `it's "2" \\ $1` },
  ])
  await eventually(async () => assert.equal((await cells(page))[1]?.[1], `it's "2" \\ $1`))
  await user.sql(`update places set ${quoted} = 'once more'; ${shown}`)
  assert.deepEqual(
    await rowsOf(user, `select count(*)::int as n from places where ${quoted} = 'once more'`),
    [{ n: 5 }],
  )

  // The page does not have that change yet.
  const stale = await edit(page, 2, 2)
  await stale.getByText('changed or deleted after the page had read it').waitFor()
  await stale.getByRole('button', { name: 'Read the rows again' }).click()
  await eventually(async () => assert.equal((await cells(page))[2]?.[1], 'once more'))

  await conflictShowsBoth(page, user)
  await undoIsOffered(page, user)
})

async function conflictShowsBoth(page: Page, user: TestUser): Promise<void> {
  const number = await edit(page, 2, 2)
  await number.getByLabel('n', { exact: true }).fill('many')
  await number.getByText('Not a number.').waitFor()
  assert.ok(await number.getByRole('button', { name: 'Save' }).isDisabled())
  await number.getByLabel('n', { exact: true }).fill('12345.5')
  await number.getByRole('button', { name: 'Save' }).click()
  await number.getByRole('alert').getByText('numeric field overflow').waitFor()
  await number.getByLabel('n', { exact: true }).fill('7.5')
  await user.sql('update places set n = 99 where id = 3')
  await number.getByRole('button', { name: 'Save' }).click()
  await number.getByText('Somebody has changed this row meanwhile').waitFor()
  assert.deepEqual(await number.locator('dd').allTextContents(), ['7.5', '99.00'])
  await assertAccessibleEverywhere(page)
  await save(page, 'Save mine')
  assert.deepEqual(await rowsOf(user, 'select n from places where id = 3'), [{ n: '7.50' }])
}

async function undoIsOffered(page: Page, user: TestUser): Promise<void> {
  await page.getByRole('button', { name: 'Undo…' }).click()
  await dialog(page).getByText('n: “99.00” → “7.5”').waitFor()
  await dialog(page).getByRole('button', { name: 'Undo', exact: true }).first().click()
  await eventually(async () =>
    assert.deepEqual(await rowsOf(user, 'select n from places where id = 3'), [{ n: '99.00' }]),
  )
  await dialog(page).getByRole('button', { name: 'Undo', exact: true }).click()
  await dialog(page).getByText('Somebody has changed this row since. It was not undone.').waitFor()
  await assertAccessibleEverywhere(page)
}

test('each type has its field, NULL a box; a computed column says why it is fixed, and a value is stored exactly', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await makePlaces(user)
  await user.sql('update places set at = st_point(1.0 / 3, 2.0 / 3, 4326) where id = 1')
  const [before] = await rowsOf(user, 'select at from places where id = 1')
  await signInAt('/tables/public/places/preview')
  await eventually(async () => assert.equal((await cells(page)).length, 5))

  await (await edit(page, 0, 3)).getByLabel('kind', { exact: true }).selectOption('large')
  await save(page)
  await (await edit(page, 0, 4)).getByLabel('ok', { exact: true }).selectOption('false')
  await save(page)
  await (await edit(page, 0, 5)).getByLabel('day', { exact: true }).fill('2026-02-28')
  await save(page)
  const json = await edit(page, 0, 6)
  await json.getByLabel('doc', { exact: true }).fill('{"a": 2')
  await json.getByText('Not JSON').waitFor()
  await json.getByLabel('NULL: doc').check()
  assert.match(await sqlIn(page), /SET "doc" = NULL\n/)
  await save(page)
  const point = await edit(page, 0, 7)
  assert.match(await point.getByLabel('at', { exact: true }).inputValue(), /^SRID=4326;POINT\(0\.33333/)
  await point.getByLabel('at', { exact: true }).fill('SRID=4326;POINT(8 47)')
  await save(page)
  const [row] = await rowsOf(
    user,
    'select kind, ok, day::text, doc, postgis.st_astext(at) as at from places where id = 1',
  )
  assert.deepEqual(row, { kind: 'large', ok: false, day: '2026-02-28', doc: null, at: 'POINT(8 47)' })
  await (await edit(page, 0, 8)).getByText('The database computes the value').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Undo…' }).click()
  for (let left = 5; left > 0; left--) {
    const undo = dialog(page).getByRole('button', { name: 'Undo', exact: true })
    await eventually(async () => assert.equal(await undo.count(), left))
    await undo.first().click()
  }
  await dialog(page).getByText('All changes are undone.').waitFor()
  const [after] = await rowsOf(user, 'select kind, ok, day::text, doc, at from places where id = 1')
  assert.deepEqual(after, { kind: 'small', ok: true, day: '2026-01-31', doc: { a: 1 }, at: before.at })
})

test('rows are added and deleted by keyboard, with the SQL and the number of rows; a row changed meanwhile stays', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await makePlaces(user)
  await signInAt('/tables/public/places/preview')
  await eventually(async () => assert.equal((await cells(page)).length, 5))
  await page.keyboard.press('a')
  const form = dialog(page)
  await form.getByLabel('id', { exact: true }).fill('6')
  assert.equal(
    await sqlIn(page),
    `INSERT INTO "public"."places" ("id")\nVALUES ('6')\nRETURNING ctid, xmin, tableoid`,
  )
  await form.getByRole('button', { name: 'Add row' }).click()
  await form.getByRole('alert').getByText('violates not-null constraint').waitFor()
  await form.getByLabel(hostile, { exact: true }).fill('sixth')
  await form.getByLabel('NULL: n', { exact: true }).check()
  await assertAccessibleEverywhere(page)
  await save(page, 'Add row')
  await eventually(async () => assert.equal((await cells(page))[5]?.[1], 'sixth'))
  await eventually(async () =>
    assert.match((await page.getByRole('grid').getAttribute('aria-activedescendant'))!, /-5-0$/),
  )

  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('Shift+ArrowDown')
  await page.keyboard.press('Shift+ArrowDown')
  await page.getByRole('button', { name: 'Delete 3 rows' }).waitFor()
  await page.keyboard.press('Delete')
  await page.getByRole('heading', { name: 'Delete 3 rows?' }).waitFor()
  assert.match(
    await sqlIn(page),
    /^DELETE FROM "public"\."places" AS t\nUSING ROWS FROM \(pg_catalog\.unnest/,
  )
  await assertAccessibleEverywhere(page)
  await user.sql('update places set n = 100 where id = 2')
  await save(page, 'Delete 3 rows')
  await page.locator('.toast', { hasText: 'Deleted 2 rows; 1 row had changed and stayed' }).waitFor()
  assert.deepEqual(
    await rowsOf(user, 'select id from places order by id'),
    [2, 4, 5, 6].map((id) => ({ id })),
  )

  await user.sql(`create table parts (a int, b text) partition by list (a); create table first partition of parts for values in (1);
    create table second partition of parts for values in (2); insert into parts values (1, 'x'), (2, 'y')`)
  await goTo('/tables/public/parts/preview')
  await eventually(async () => assert.equal((await cells(page)).length, 2))
  await (await edit(page, 1, 1)).getByLabel('b', { exact: true }).fill('z')
  await save(page)
  assert.deepEqual(await rowsOf(user, 'select b from parts order by a'), [{ b: 'x' }, { b: 'z' }])
})

test('a view, a foreign table and a key without rights are read-only, and the page says why', async (t) => {
  const { page, signInAt, goTo, signIn, user, url, admin } = await openConsole(t)
  await makePlaces(user)
  await user.sql('create view v as select id, n from places')
  const { database } = user.account
  await admin(
    'create foreign data wrapper nowhere; create server nowhere foreign data wrapper nowhere',
    [],
    database,
  )
  const [{ role }] = await rowsOf(user, 'select current_user as role')
  await admin(
    `create foreign table far (a int) server nowhere; grant select on far to "${role}"`,
    [],
    database,
  )
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  const tables = [{ schema: 'public', name: 'places', permissions: ['select', 'insert'] as const }]
  const grants = [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables },
  ] as const
  const { token } = await client.keys.create({ name: 'adder', grants })
  await signInAt('/tables/public/v/preview')
  await page.getByText('Read-only here: it is a view.').waitFor()
  await eventually(async () => assert.equal((await cells(page)).length, 5))
  assert.equal(await page.getByRole('button', { name: /^(Edit|Add row|Delete)/ }).count(), 0)
  await goTo('/tables/public/far/preview')
  await page.getByText(/Read-only here: it (is a foreign table|belongs to another user)/).waitFor()
  await page.evaluate(() => localStorage.clear())
  await signIn(user, token)
  await goTo('/tables/public/places/preview')
  await page.getByText('This key has no right to UPDATE and DELETE.').waitFor()
  await page.getByRole('button', { name: 'Add row' }).waitFor()
  assert.equal(await page.getByRole('button', { name: /^(Edit|Delete)/ }).count(), 0)
})
