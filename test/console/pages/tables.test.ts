import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { inShell } from '../support/in-shell.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, clipboard } from '../support/sql-page.ts'

test('the list describes every table and leads to its rows, columns, indexes and keys', async (t) => {
  const { page, signInAt, goTo, user, url } = await openConsole(t, { setup: { worker: true } })
  await signInAt('/tables')
  await page.getByText('No tables yet. Drop a file here').waitFor()
  await makePlaces(user, url)

  await goTo('/tables')
  const line = page.getByRole('row', { name: 'places' })
  assert.match(
    (await line.innerText()).replace(/\s+/g, ' '),
    /^places table about 50 \d+ KB geometry\(Point,4326\) private /,
  )
  await page.getByLabel('Filter tables').fill('plac')
  assert.equal(await page.getByRole('row').count(), 2)
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: 'places' }).click()
  await eventually(async () => assert.deepEqual((await cells(page))[0]?.slice(0, 2), ['1', 'place 1']))
  await assertAccessibleEverywhere(page)
  await page.getByRole('tab', { name: 'Columns' }).click()
  await page.getByRole('row', { name: "name text yes '<b>'::text how it is called" }).waitFor()
  await page.getByRole('tab', { name: 'Indexes' }).click()
  await page.getByRole('row', { name: /places_pkey index CREATE UNIQUE INDEX places_pkey/ }).waitFor()
  await page.getByRole('tab', { name: 'Access' }).click()
  await page.getByRole('row', { name: 'editor regular yes no yes no' }).waitFor()
  await page.getByRole('row', { name: 'Default public default no no no no' }).waitFor()
  await assertAccessibleEverywhere(page)

  await page.getByRole('button', { name: 'Write SQL' }).click()
  await page.getByRole('menuitem', { name: 'SELECT' }).click()
  await page.locator('.cm-content', { hasText: 'SELECT id, name, the_geom' }).waitFor()
  await goTo('/tables/public/places')
  await page.getByRole('button', { name: 'Prepare for maps' }).click()
  await page.getByText('CDB_CartodbfyTable').first().waitFor()
  await eventually(async () => {
    const { rows } = await user.sql('select count(the_geom_webmercator)::int as n from places')
    assert.equal(rows[0].n, 50)
  })
})

test('making a table public asks first, says what it means, and shows addresses that work without a key', async (t) => {
  const { page, signInAt, user, url } = await openConsole(t)
  await makePlaces(user, url)
  await signInAt('/tables/public/places/access')
  const isPublic = page.getByLabel('Public: readable without a key')
  await isPublic.click()
  await page.getByText('Anyone who knows the address can read all rows and columns').waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await isPublic.isChecked(), false)
  await isPublic.press('Space')
  await page.getByRole('button', { name: 'Make public' }).click()

  await page.getByRole('heading', { name: 'places is public' }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: 'Copy: Address of the rows as JSON' }).click()
  const address = await eventually(async () => {
    const text = await clipboard(page)
    assert.match(text, /^http/)
    return text
  })
  const { rows } = (await (await fetch(address)).json()) as { rows: unknown[] }
  assert.equal(rows.length, 50)
  const geojson = await page.getByRole('region', { name: 'Address of the rows as GeoJSON' }).innerText()
  const { features } = (await (await fetch(geojson)).json()) as { features: unknown[] }
  assert.equal(features.length, 50)
  const curl = await page.getByRole('region', { name: 'As CSV with curl' }).innerText()
  assert.match(await inShell(curl, ''), /^id,name,the_geom\r?\n1,place 1,/)

  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: 'Default public default public no no no' }).waitFor()
  await page.getByRole('button', { name: 'Public address' }).click()
  await page.getByRole('heading', { name: 'places is public' }).waitFor()
  await page.keyboard.press('Escape')
  await isPublic.click()
  await page.locator('.toast', { hasText: 'places is private' }).waitFor()
  assert.equal((await fetch(address)).status, 403)
})

/** A table with rows, a view, and a key that may read and change the table. */
async function makePlaces(user: TestUser, url: string): Promise<void> {
  await user.sql(
    'create table places (id int primary key, name text default $$<b>$$, the_geom geometry(Point,4326))',
  )
  await user.sql(
    "insert into places select n, 'place ' || n, ST_SetSRID(ST_MakePoint(n, n), 4326) from generate_series(1, 50) n",
  )
  await user.sql(
    "comment on column places.name is 'how it is called'; analyze places; create view few as select 1 as one",
  )
  const keys = createClient({ baseUrl: url, username: user.username, token: user.masterToken }).keys
  const tables = [{ schema: 'public', name: 'places', permissions: ['select', 'update'] as const }]
  await keys.create({
    name: 'editor',
    grants: [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables },
    ],
  })
}

test('a table with 1,600 columns and a hostile name is shown; a dropped table is reported', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  const name = `<img src=x>"; drop table x; --/ä`
  const quoted = `"${name.replaceAll('"', '""')}"`
  await user.sql(`create table ${quoted} (${Array.from({ length: 1600 }, (_, at) => `c${at} int`)})`)
  await user.sql(`insert into ${quoted} (c0, c1599) values (1, 2)`)
  await signInAt('/tables')
  await page.getByRole('link', { name: quoted }).click()
  await eventually(async () => assert.equal((await cells(page))[0]?.[0], '1'))
  await page.getByRole('tab', { name: 'Columns' }).click()
  await page.getByRole('row', { name: 'c1599 integer' }).waitFor()
  await page.getByRole('button', { name: 'Write SQL' }).click()
  await page.getByRole('menuitem', { name: 'DROP' }).click()
  await page.locator('.cm-content', { hasText: `DROP TABLE ${quoted}` }).waitFor()
  await user.sql(`drop table ${quoted}`)
  await goTo(`/tables/public/${encodeURIComponent(name)}/columns`)
  await page.getByText('It may have been dropped').waitFor()
})

test('the longest table name fits on a phone', async (t) => {
  const { page, signInAt, user } = await openConsole(t)
  const name = 'long_'.repeat(13).slice(0, 63)
  await user.sql(`create table ${name} (n int)`)
  await signInAt(`/tables/public/${name}/preview`)
  await page.setViewportSize({ width: 360, height: 740 })
  const note = await page.getByText('Shows up to 10,000 rows').boundingBox()
  assert.ok(note && note.x + note.width <= 348, `it ends at ${note && note.x + note.width} of 360 px`)
})
