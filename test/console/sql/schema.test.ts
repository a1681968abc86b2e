import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/client.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, run, write } from '../support/sql-page.ts'

const places = `
  create table places (id int primary key, "Öffentlich" text default 'x', the_geom geometry(Point, 4326));
  insert into places select i, 'Paris ' || i, 'SRID=4326;POINT(1 2)' from generate_series(1, 1500) i;
  comment on table places is 'Where people go';
  analyze places;
  create view busy as select id from places;
  create schema other;
  create table other.hidden (secret int);
  create function shout(word text) returns text language sql as 'select upper(word)'`

test('the schema shows tables, views, columns with types, estimates, geometry kinds and functions', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  await line(page, 'public').waitFor()
  assert.equal(await line(page, 'public').getAttribute('aria-expanded'), 'true')
  assert.equal(await detail(page, 'places'), 'Point · ~1.5K')
  assert.equal(await detail(page, 'busy'), 'view')
  assert.equal(await line(page, 'hidden').count(), 0)
  await line(page, 'other').click()
  await line(page, 'hidden').waitFor()
  await line(page, 'places').locator('.turn').click()
  assert.equal(await detail(page, 'id'), 'integer')
  assert.equal(await detail(page, 'the_geom'), 'geometry(Point,4326)')
  await line(page, 'Functions').click()
  assert.equal(await detail(page, 'shout'), 'text')
  assert.equal(await line(page, 'st_area').count(), 0, 'those of PostGIS are not of the account')
  await assertAccessibleEverywhere(page)
})

test('a click or a drag inserts a name, quoted and with its schema where SQL needs that', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  await write(page, 'select')
  await line(page, 'places').locator('.turn').click()
  await line(page, 'Öffentlich').click()
  await page.keyboard.insertText(' from')
  await line(page, 'other').click()
  await line(page, 'hidden').click()
  await page.keyboard.insertText('; ')
  await line(page, 'Functions').click()
  await line(page, 'shout').click()
  await page.keyboard.insertText("'a'")
  await editor(page).getByText(`select "Öffentlich" from other.hidden; shout('a')`).waitFor()
  await write(page, 'select 1 from ')
  await line(page, 'busy').dragTo(editor(page).locator('.cm-line'), { targetPosition: { x: 600, y: 8 } })
  await editor(page).getByText('select 1 from busy').waitFor()
})

test('the search finds tables, columns and functions, and says when nothing is found', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  const search = page.getByRole('searchbox', { name: 'Search tables, columns and functions' })
  await search.fill('SECR')
  await line(page, 'secret').waitFor()
  assert.deepEqual(await names(page), ['other', 'hidden', 'secret'])
  await search.fill('shou')
  await line(page, 'shout').waitFor()
  await search.fill('nothing like it')
  await page.getByText('Nothing contains “nothing like it”.').waitFor()
  await search.fill('')
  await line(page, 'places').waitFor()
})

test('the tree is used with the keyboard alone', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  await line(page, 'places').waitFor()
  const { keyboard } = page
  await editor(page).focus()
  await keyboard.press('Alt+s')
  await focused(page, 'Search tables, columns and functions')
  for (const [key, reached] of [
    ['ArrowDown', 'public'],
    ['ArrowRight', 'busy'],
    ['ArrowDown', 'places'],
    ['ArrowLeft', 'public'],
    ['End', 'other'],
    ['ArrowUp', 'Functions'],
    ['ArrowUp', 'places'],
  ] as const) {
    await keyboard.press(key)
    await focused(page, reached)
  }
  await keyboard.press('ArrowRight')
  await eventually(async () => assert.equal(await line(page, 'places').getAttribute('aria-expanded'), 'true'))
  await keyboard.press('ArrowRight')
  await focused(page, 'id')
  await keyboard.press('Enter')
  await focused(page, 'id')
  await keyboard.press('Escape')
  await keyboard.insertText(' found')
  await editor(page).getByText('id found').waitFor()
})

test('a key press acts on the focused line, wherever the pointer is', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  await line(page, 'busy').focus()
  await line(page, 'public').hover()
  await page.getByRole('region', { name: 'Preview' }).getByText('2 tables and views').waitFor()
  assert.equal(await line(page, 'busy').getAttribute('tabindex'), '0')
  await page.keyboard.press('Enter')
  await editor(page).getByText('busy').waitFor()
  await page.keyboard.press('ArrowDown')
  await focused(page, 'places')
  await page.keyboard.press('ArrowDown')
  await focused(page, 'Functions')
  await page.keyboard.press('Enter')
  await line(page, 'shout').waitFor()
})

test('the preview shows facts and first rows of a table, but reads no rows of a view', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await user.sql('create view slow as select 1 / (random() > 2)::int as never')
  await signInAt('/sql')
  const preview = page.getByRole('region', { name: 'Preview' })
  await line(page, 'places').hover()
  await preview.getByText('Paris 1 · Paris 2 · Paris 3').waitFor()
  await preview.getByText(/table · Point · about 1,500 rows · \d+ KB/).waitFor()
  await preview.getByText('Where people go').waitFor()
  await line(page, 'slow').focus()
  await preview.getByText('The rows of a view are not read unasked.').waitFor()
  await line(page, 'places').locator('.turn').click()
  await line(page, 'Öffentlich').hover()
  await preview.getByText(/text · may be NULL · in places/).waitFor()
  await preview.getByText("'x'::text").waitFor()
})

test('the preview runs no cast created by a user', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(`create type mood as enum ('happy');
    create function told(mood) returns text language sql as $$ select 'code ran' $$;
    create cast (mood as text) with function told(mood);
    create table days (feels mood, sunny boolean);
    insert into days values ('happy', true), (null, null)`)
  await signInAt('/sql')
  await line(page, 'days').hover()
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('true · NULL').waitFor()
  await preview.getByText('happy · NULL').waitFor()
})

test('the schema and the tables are read without operators created by a user', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(places)
  for (const [operator, left, right] of [
    ['=', 'oid', 'regclass'],
    ['=', 'regclass', 'oid'],
    ['!~', 'name', 'name'],
  ]) {
    await user.sql(`create function trap(${left}, ${right}) returns boolean language plpgsql
        as $$ begin raise exception 'code ran'; end $$;
      create operator ${operator} (function = trap, leftarg = ${left}, rightarg = ${right})`)
  }
  await signInAt('/sql')
  await line(page, 'places').hover()
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('Where people go').waitFor()
  await line(page, 'places').locator('.turn').click()
  await line(page, 'id').hover()
  await preview.getByText('integer · never NULL · in places').waitFor()
  await goTo('/tables')
  await page.getByRole('link', { name: 'places' }).first().waitFor()
})

test('a huge comment on a function does not hide the schema', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  await user.sql(places)
  await user.sql(
    `do $$ begin execute format('comment on function shout(text) is %L', repeat('x', 34000000)); end $$`,
  )
  await signInAt('/sql')
  await line(page, 'Functions').click()
  await line(page, 'shout').hover()
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText(/^x{500}$/).waitFor()
})

test('a table created, changed or dropped here or in another tab updates the schema by itself', async (t) => {
  const { page, context, url, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await page.getByText('No tables yet. Upload a file, or write CREATE TABLE.').waitFor()
  await run(page, 'create table first (n int)')
  await line(page, 'first').waitFor()
  const other = await context.newPage()
  await other.goto(`${url}/console/sql`)
  await line(other, 'first').waitFor()
  await run(other, 'alter table first rename to second')
  await line(page, 'second').waitFor()
  await write(other, 'begin; create table third (n int); commit')
  await other.keyboard.press('Control+Shift+Enter')
  await line(page, 'third').waitFor()
  await run(other, 'select 1 as n into fourth')
  await line(page, 'fourth').waitFor()
  await run(other, 'insert into third select generate_series(1, 3000)')
  await run(other, 'analyze third')
  await eventually(async () => assert.equal(await detail(page, 'third'), '~3K'))
})

test('a button hides the schema, the browser stores that, and on a narrow page the schema lies on top', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/sql')
  const shown = page.getByRole('tree', { name: 'Schema' })
  const button = page.getByRole('button', { name: 'Schema', exact: true })
  await shown.waitFor()
  await button.click()
  await shown.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Account' }).click()
  await page.getByText('settings').waitFor()
  await goTo('/sql')
  await editor(page).waitFor()
  await eventually(async () => assert.equal(await button.getAttribute('aria-pressed'), 'false'))
  await button.click()
  await page.setViewportSize({ width: 360, height: 700 })
  await shown.waitFor({ state: 'detached' })
  await button.click()
  await line(page, 'places').waitFor()
  await assertAccessible(page)
  await line(page, 'places').click()
  await shown.waitFor({ state: 'detached' })
  await editor(page).getByText('places').waitFor()
  await page.keyboard.press('Alt+s')
  await focused(page, 'Search tables, columns and functions')
  await page.keyboard.press('Escape')
  await shown.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 1280, height: 800 })
  await shown.waitFor()
})

test('the tree lists 200 tables of a schema, says how many it leaves out, and its search finds them', async (t) => {
  const { page, signInAt, url, user } = await openConsole(t)
  const { sql } = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  await sql(
    `do $$ begin for i in 1..450 loop execute format('create view v%s as select 1 as n', i); end loop; end $$`,
  )
  await signInAt('/sql')
  const more = page.getByRole('treeitem', { name: '250 more: search' })
  await more.click()
  await focused(page, 'Search tables, columns and functions')
  await more.press('Enter')
  await focused(page, 'Search tables, columns and functions')
  await page.keyboard.type('v449')
  await line(page, 'v449').waitFor()
  assert.deepEqual(await names(page), ['public', 'v449'])
})

test('a schema that cannot be read says why, and is read again', async (t) => {
  const { page, signInAt, user, context } = await openConsole(t)
  await user.sql(places)
  await context.route('**/api/v2/sql', (route) =>
    route.request().postData()?.includes('searchPath')
      ? route.fulfill({ status: 400, json: { error: ['the catalog is closed'] } })
      : route.continue(),
  )
  await signInAt('/sql')
  await page.getByRole('alert').getByText('the catalog is closed').waitFor()
  await context.unrouteAll()
  await page.getByRole('button', { name: 'Try again' }).click()
  await line(page, 'places').waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
})

const line = (page: Page, name: string) =>
  page.getByRole('treeitem').filter({ has: page.locator('.line-name').getByText(name, { exact: true }) })

const detail = (page: Page, name: string) => line(page, name).locator('.line-detail').textContent()

const names = (page: Page) => page.locator('.schema-line .line-name').allTextContents()

/** Waits until the line or the field of this name has the focus. */
async function focused(page: Page, name: string): Promise<void> {
  await eventually(async () => {
    const text = await page.evaluate(() => {
      const at = document.activeElement
      return at?.querySelector('.line-name')?.textContent ?? at?.getAttribute('aria-label')
    })
    assert.equal(text, name)
  })
}
