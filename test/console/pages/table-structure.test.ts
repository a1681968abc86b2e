import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { jobSession } from '../../support/jobs/job-session.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells } from '../support/sql-page.ts'

const hostile = `Odd "na'me"; --`
const quoted = `"${hostile.replaceAll('"', '""')}"`

const dialog = (page: Page) => page.getByRole('dialog')
const sqlIn = (page: Page) => dialog(page).getByRole('region', { name: 'SQL of this change' }).innerText()

async function run(page: Page, act: string): Promise<void> {
  await dialog(page).getByRole('button', { name: act, exact: true }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

const columnsOf = async (user: TestUser, table: string) =>
  (
    await user.sql(
      `select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as "notNull", pg_get_expr(adbin, adrelid) as fallback,
         col_description(attrelid, attnum) as comment
       from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
       where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
      [table],
    )
  ).rows

test('columns are added, changed and dropped by forms that show their SQL and what depends on them', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(`create table places (id int primary key, ${quoted} text); insert into places values (1, '7');
    create index on places (${quoted}); create domain public.text as int4 check (false)`)
  await signInAt('/tables/public/places/columns')
  await page.getByRole('button', { name: 'Add column' }).click()
  await dialog(page).getByLabel('Name').fill('note')
  await dialog(page).getByLabel('Default').fill("'none'")
  await dialog(page).getByLabel('NOT NULL').check()
  await dialog(page).getByLabel('Comment').fill("it's new")
  assert.equal(
    await sqlIn(page),
    `ALTER TABLE "public"."places" ADD COLUMN "note" pg_catalog.text DEFAULT 'none' NOT NULL;\nCOMMENT ON COLUMN "public"."places"."note" IS 'it''s new'`,
  )
  await assertAccessibleEverywhere(page)
  await run(page, 'Add column')
  await page.getByRole('row', { name: "note text no 'none'::text it's new" }).waitFor()

  await page.getByRole('button', { name: `Change ${hostile}` }).click()
  await dialog(page).getByLabel('Name').fill('number')
  await dialog(page).getByLabel('Type').fill('wrong')
  await dialog(page).getByRole('button', { name: 'Change column', exact: true }).click()
  await dialog(page).getByRole('alert').getByText('type "wrong" does not exist').waitFor()
  await dialog(page).getByLabel('Type').fill('integer')
  await dialog(page).getByLabel('Default').fill('8')
  await dialog(page).getByLabel('NOT NULL').check()
  await dialog(page).getByLabel('Old values become (USING)').fill(`${quoted}::pg_catalog.int4 * 2`)
  await dialog(page).getByRole('button', { name: 'Run as a job' }).waitFor()
  await assertAccessibleEverywhere(page)
  await run(page, 'Change column')
  assert.deepEqual((await user.sql('select number from places')).rows, [{ number: 14 }])
  assert.deepEqual(await columnsOf(user, 'places'), [
    { name: 'id', type: 'integer', notNull: true, fallback: null, comment: null },
    { name: 'number', type: 'integer', notNull: true, fallback: '8', comment: null },
    {
      name: 'note',
      type: 'text',
      notNull: true,
      fallback: "'none'::text",
      comment: "it's new",
    },
  ])
  await dropsWithDependents(page, user)
})

async function dropsWithDependents(page: Page, user: TestUser): Promise<void> {
  await user.sql(
    'create view doubled as select number * 2 as n from places; create view more as select n from doubled',
  )
  await page.getByRole('button', { name: 'Drop number' }).click()
  await dialog(page).getByText('view doubled').waitFor()
  const listed = await dialog(page).getByRole('listitem').allTextContents()
  assert.deepEqual(
    listed.map((text) => text.replace(/index .* \(/, 'index (')),
    ['view doubled', 'view more', 'index ((dropped with it)'].map((text) => text.replace('((', '(')),
  )
  await assertAccessibleEverywhere(page)
  await dialog(page).getByRole('button', { name: 'Drop column' }).click()
  await dialog(page).getByRole('alert').getByText('other objects depend on it').waitFor()
  await dialog(page).getByLabel('Drop all of them too (CASCADE)').check()
  assert.match(await sqlIn(page), /^ALTER TABLE "public"\."places" DROP COLUMN "number" CASCADE$/)
  await run(page, 'Drop column')
  assert.deepEqual(
    (await columnsOf(user, 'places')).map(({ name }) => name),
    ['id', 'note'],
  )
}

test('an index is created and dropped, and offered after a filter that took over a second', async (t) => {
  const house = await openConsole(t)
  const { page, signInAt, user, admin } = house
  await user.sql(
    `create table places (id int primary key, kind text, doc jsonb); insert into places values (1, 'a', '{}')`,
  )
  await signInAt('/tables/public/places/indexes')
  await page.getByRole('button', { name: 'Create index' }).click()
  await dialog(page).getByLabel('doc', { exact: true }).check()
  assert.equal(await sqlIn(page), 'CREATE INDEX ON "public"."places" USING gin ("doc")')
  await assertAccessibleEverywhere(page)
  await run(page, 'Create index')
  await page.getByRole('button', { name: 'Drop index places_doc_idx' }).click()
  assert.equal(await sqlIn(page), 'DROP INDEX "public"."places_doc_idx"')
  await run(page, 'Drop')
  await page.getByRole('row', { name: 'places_doc_idx' }).waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: 'Drop index places_pkey' }).count(), 0)

  await page.getByRole('tab', { name: 'Preview' }).click()
  await eventually(async () => assert.equal((await cells(page)).length, 1))
  const holder = await jobSession(t, house, user)
  await holder.query('begin; lock table places')
  await page.getByRole('button', { name: 'Add filter' }).click()
  await dialog(page).getByLabel('Column').selectOption('kind')
  await dialog(page).getByLabel('Condition').selectOption('=')
  await dialog(page).getByLabel('Value').fill('a')
  await run(page, 'Filter')
  await eventually(async () => {
    const waiting = `select from pg_locks where not granted and relation = 'places'::regclass`
    assert.notEqual((await admin(waiting, [], user.account.database)).rowCount, 0)
  })
  await holder.query('select pg_sleep(1.2)')
  await holder.query('commit')
  await page.getByText(/The filter took .* An index on kind may make it faster/).waitFor()
  await page.getByRole('button', { name: 'Create index…' }).click()
  assert.equal(await sqlIn(page), 'CREATE INDEX ON "public"."places" USING btree ("kind")')
  await run(page, 'Create index')
  await page.getByText('The filter took').waitFor({ state: 'detached' })
  assert.equal((await user.sql(`select from pg_indexes where indexname = 'places_kind_idx'`)).rowCount, 1)
})

/** The token of a key that may read and change rows of a table. */
async function keyFor(baseUrl: string, user: TestUser, name: string): Promise<string> {
  const client = createClient({ baseUrl, username: user.username, token: user.masterToken })
  const tables = [{ schema: 'public', name, permissions: ['select', 'update'] as const }]
  const grants = [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables },
  ] as const
  const { token } = await client.keys.create({ name: 'reader', grants })
  client.close()
  return token
}

test('a table is commented, renamed, and deleted after its dependents are shown; without the right nothing is offered', async (t) => {
  const { page, signInAt, signIn, goTo, user, url } = await openConsole(t)
  await user.sql(`create table "Old" (id int primary key, other int references "Old"); create view seen as select id from "Old";
    create table child (r int references "Old"); create function named(row_of "Old") returns int language sql as 'select 1'`)
  const token = await keyFor(url, user, 'Old')
  await signInAt('/tables/public/Old/columns')
  const choose = async (item: string) => {
    await page.getByRole('button', { name: 'Change ▾' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await choose('Comment…')
  await dialog(page).getByLabel('Comment').fill('all places')
  await run(page, 'Save')
  await page.getByText('all places').waitFor()
  await choose('Rename…')
  await dialog(page).getByLabel('Name').fill('New')
  assert.equal(await sqlIn(page), 'ALTER TABLE "public"."Old" RENAME TO "New"')
  await assertAccessibleEverywhere(page)
  await run(page, 'Rename')
  await page.getByRole('heading', { name: '"New"' }).waitFor()

  await choose('Delete…')
  await dialog(page).getByText('view seen').waitFor()
  await dialog(page).getByText('Keys with access to it: reader.').waitFor()
  assert.deepEqual(await dialog(page).getByRole('listitem').allTextContents(), [
    'constraint child_r_fkey on table child',
    'function named("New")',
    'view seen',
  ])
  await assertAccessibleEverywhere(page)
  await dialog(page).getByLabel('Drop all of them too (CASCADE)').check()
  assert.equal(await sqlIn(page), 'DROP TABLE "public"."New" CASCADE')
  const act = dialog(page).getByRole('button', { name: 'Delete', exact: true })
  assert.ok(await act.isDisabled())
  await page.keyboard.press('Escape')

  await page.evaluate(() => localStorage.clear())
  await signIn(user, token)
  await goTo('/tables/public/New/columns')
  await page.getByText('Only the Master key of its owner can change this.').waitFor()
  await page.getByRole('button', { name: 'Change ▾' }).click()
  await page.getByText('only with the Master key of its owner').first().waitFor()
  await page.keyboard.press('Escape')

  await page.evaluate(() => localStorage.clear())
  await signInAt('/tables/public/New/columns')
  await choose('Delete…')
  await dialog(page).getByLabel('Drop all of them too (CASCADE)').check()
  await dialog(page).getByLabel('Type New to confirm').fill('New')
  await act.click()
  await page.locator('.toast', { hasText: '"New" is deleted' }).waitFor()
  await page.getByRole('heading', { name: 'Tables' }).waitFor()
  assert.deepEqual((await user.sql(`select to_regclass('"New"') as t, to_regclass('seen') as v`)).rows, [
    { t: null, v: null },
  ])
})
