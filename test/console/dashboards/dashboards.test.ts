import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { DashboardDocument } from '../../../src/contract/dashboards.ts'
import { saved } from '../../support/queries/queries-api.ts'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

const tables = `create table cities (name text, country text, people bigint, geom geometry(Point, 4326));
  insert into cities values ('Paris', 'FR', 2100000, st_point(2.35, 48.86, 4326)), ('Lyon', 'FR', 500000, st_point(4.8, 45.7, 4326)),
    ('Oslo', 'NO', 700000, st_point(10.7, 59.9, 4326))`

/** Queries, two of which have the parameter `country`. */
async function makeQueries(user: TestUser): Promise<void> {
  await user.sql(tables)
  const params = { country: { type: 'text', default: 'FR' } }
  await saved(user, 'cities', {
    sql: 'select name, people from cities where country = :country order by 1',
    params,
  })
  await saved(user, 'people', {
    sql: 'select count(*) as cities, sum(people) as people from cities where country = :country',
    params,
    public: true,
  })
  await saved(user, 'places', { sql: 'select name, people, geom from cities', public: true })
}

async function put(user: TestUser, name: string, body: object): Promise<void> {
  const answer = await fetch(`${user.base}/api/v4/dashboards/${name}?api_key=${user.masterToken}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.ok(answer.ok, await answer.text())
}

async function read(user: TestUser, name: string): Promise<DashboardDocument> {
  const answer = await fetch(`${user.base}/api/v4/dashboards/${name}?api_key=${user.masterToken}`)
  return (await answer.json()) as DashboardDocument
}

const partOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

const filters = [
  { param: 'country', label: 'Country', type: 'text', default: 'FR', options: ['FR', 'NO', 'XX'] },
]
const parts = [
  { id: 'sum', title: 'People', query: 'people', as: 'number', column: 'people', x: 0, y: 0, w: 4, h: 2 },
  { id: 'list', title: 'All cities', query: 'cities', as: 'table', x: 4, y: 0, w: 8, h: 5 },
  { id: 'gone', title: 'Gone', query: 'nowhere', as: 'table', x: 0, y: 2, w: 4, h: 3 },
]

test('a dashboard is built from saved queries with a filter, moved and resized with keyboard and mouse, and saved', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await makeQueries(user)
  await house.signInAt('/dashboards')
  await page.getByText('No dashboards yet.').waitFor()
  await page.keyboard.press('Alt+n')
  await page.getByLabel('Title').fill('Cities of a country')
  assert.equal(await page.getByLabel('Name').inputValue(), 'cities-of-a-country')
  await put(user, 'taken', { title: 'Taken' })
  await page.reload()
  await page.getByLabel('Title').fill('Taken')
  await page.getByText('A dashboard taken exists. Choose another name.').waitFor()
  await page.getByLabel('Title').fill('Cities of a country')
  const add = async (query: string, as: string, more?: () => Promise<void>) => {
    await page.getByRole('button', { name: 'Add a saved query' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a saved query' })
    await dialog.getByLabel('Saved query').selectOption(query)
    await dialog.getByLabel('Shown as').selectOption(as)
    await more?.()
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  }
  await add('people', 'Number', () => page.getByLabel('Column').fill('people'))
  await partOf(page, 'people').getByText('2,600,000').waitFor()
  await add('cities', 'Table')
  await partOf(page, 'cities').getByRole('cell', { name: 'Lyon' }).waitFor()
  await page.getByRole('button', { name: 'Add filter' }).click()
  await page.getByRole('menuitem', { name: 'country' }).click()
  assert.equal(await page.getByLabel('First value').inputValue(), 'FR')
  // By arrow keys and by drag: the table goes left, and the number below it.
  await page.getByRole('button', { name: 'Resize people' }).press('ArrowDown')
  await page.getByRole('button', { name: 'Move people' }).press('ArrowRight')
  const handle = (await page.getByRole('button', { name: 'Move cities' }).boundingBox())!
  const target = (await partOf(page, 'people').boundingBox())!
  const table = (await partOf(page, 'cities').boundingBox())!
  await page.mouse.move(handle.x + 5, handle.y + 5)
  await page.mouse.down()
  await page.mouse.move(handle.x - (table.x - target.x) - 60, handle.y + 5 - (table.y - target.y), {
    steps: 5,
  })
  await page.mouse.up()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'Cities of a country' }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  const { filters: savedFilters, parts: savedParts } = await read(user, 'cities-of-a-country')
  assert.deepEqual(savedFilters, [{ param: 'country', label: 'country', type: 'text', default: 'FR' }])
  const placeOf = (query: string) => {
    const { x, y, w, h } = savedParts.find((part) => part.query === query)!
    return { x, y, w, h }
  }
  assert.deepEqual(placeOf('people'), { x: 1, y: 6, w: 3, h: 3 })
  assert.deepEqual(placeOf('cities'), { x: 0, y: 0, w: 6, h: 6 })
  await page.getByRole('link', { name: 'Dashboards', exact: true }).last().click()
  await page.getByRole('link', { name: 'Cities of a country' }).waitFor()
})

test('a filter sets the parameter in the queries that have it, and an error stays in its part', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await makeQueries(user)
  const all = { ...parts[0], id: 'all', title: 'Cities', query: 'places', x: 0, y: 5, column: 'name' }
  await put(user, 'one', { title: 'One', filters, parts: [...parts, all] })
  await house.signInAt('/dashboards/board/one')
  await partOf(page, 'People').getByText('2,600,000').waitFor()
  await partOf(page, 'Gone').getByText("Query 'nowhere'").waitFor()
  await partOf(page, 'Gone').getByRole('button', { name: 'Try again' }).waitFor()
  await partOf(page, 'All cities').getByRole('cell', { name: 'Lyon' }).waitFor()
  await page.getByLabel('Country').selectOption('NO')
  await partOf(page, 'People').getByText('700,000').waitFor()
  await partOf(page, 'All cities').getByRole('cell', { name: 'Oslo' }).waitFor()
  assert.equal(await partOf(page, 'All cities').getByRole('cell', { name: 'Lyon' }).count(), 0)
  await partOf(page, 'Cities').getByText('Paris').waitFor()
  await page.getByLabel('Country').selectOption('XX')
  await partOf(page, 'People').getByText('NULL').waitFor()
  await partOf(page, 'All cities').getByText('No rows.').waitFor()
  await assertAccessibleEverywhere(page)
})

test('a dashboard is read again by hand and by the clock while visible, and keeps its rows until the new ones arrive', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await makeQueries(user)
  await put(user, 'one', { title: 'One', filters, parts: [parts[0]], refresh_seconds: 10 })
  await house.signIn()
  await page.clock.install()
  await house.goTo('/dashboards/board/one')
  await partOf(page, 'People').getByText('2,600,000').waitFor()
  await user.sql(`insert into cities values ('Nice', 'FR', 300000)`)
  await page.clock.runFor(12_000)
  await partOf(page, 'People').getByText('2,900,000').waitFor()
  await page.getByLabel('Refresh').selectOption('by hand')
  await user.sql(`insert into cities values ('Lille', 'FR', 200000)`)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route('**/queries/people/rows*', async (route) => {
    await held
    await route.continue()
  })
  const asked = page.waitForRequest('**/queries/people/rows*')
  await page.clock.runFor(60_000)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await asked
  assert.equal(await partOf(page, 'People').getAttribute('aria-busy'), 'true')
  await partOf(page, 'People').getByText('2,900,000').waitFor()
  release()
  await partOf(page, 'People').getByText('3,100,000').waitFor()
})

test('a part shows its rows as a map drawn in the browser, or as a chart whose kind is chosen in the editor', async (t) => {
  const house = await openConsole(t, { drawsMaps: true })
  const { page, user } = house
  await makeQueries(user)
  const map = { title: 'Places', query: 'places', as: 'map', x: 0, y: 0, w: 12, h: 7 }
  const spec = { kind: 'bar', x: 'name', y: ['people'] }
  const chart = {
    id: 'c',
    title: 'Chart',
    query: 'places',
    as: 'chart',
    chart: spec,
    x: 0,
    y: 7,
    w: 12,
    h: 7,
  }
  await put(user, 'one', { title: 'One', parts: [map, chart] })
  await house.signInAt('/dashboards/board/one')
  await partOf(page, 'Places').getByText('3 shapes').waitFor()
  await partOf(page, 'Places').locator('canvas.maplibregl-canvas').waitFor()
  await partOf(page, 'Chart').locator('svg').getByText('Paris').first().waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await partOf(page, 'Chart').getByLabel('Chart type').selectOption({ label: 'pie' })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  const { chart: changed } = (await read(user, 'one')).parts.find(({ id }) => id === 'c')!
  assert.equal(changed?.kind, 'pie')
})

test('Share makes a dashboard public, and says which queries are not', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await makeQueries(user)
  await put(user, 'one', { title: 'One', filters, parts })
  await house.signInAt('/dashboards/board/one')
  await page.getByRole('button', { name: 'Share' }).click()
  const dialog = page.getByRole('dialog', { name: 'Share' })
  await dialog.getByText('in place of the parts of cities, nowhere').waitFor()
  // A public query of a table that is not public.
  await dialog.getByText('People without a key may not read the tables of people.').waitFor()
  await dialog.getByRole('checkbox', { name: /^Public/ }).check()
  await eventually(async () => assert.equal((await read(user, 'one')).public, true))
  await page.keyboard.press('Escape')
  await page.getByText('public', { exact: true }).waitFor()
})

test('a dashboard with unsaved changes asks before another page opens and before the tab closes', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await put(user, 'one', { title: 'One' })
  await house.signInAt('/dashboards')
  await page.getByRole('link', { name: 'One' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  const title = page.getByLabel('Title')
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  const stay = async () => {
    await question.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await title.inputValue(), 'Another title')
    assert.equal(new URL(page.url()).pathname, '/console/dashboards/board/one/edit')
  }
  await title.fill('Another title')
  await page.getByRole('link', { name: 'Dashboards', exact: true }).last().click()
  await question.getByText('Your changes to this dashboard are not saved.').waitFor()
  await assertAccessibleEverywhere(page)
  await stay()
  await page.locator('h1').click()
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await stay()
  await page.goBack()
  await stay()
  const asked = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  const closing = await asked
  assert.equal(closing.type(), 'beforeunload')
  await closing.dismiss()
  // Unchanged or saved, it asks nothing.
  await title.fill('One')
  await page.getByText('Not saved yet').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  await title.fill('Saved title')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'Saved title' }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await title.fill('Left')
  await page.goBack()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Saved title' }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  assert.equal((await read(user, 'one')).title, 'Saved title')
})

test("two people who edit a dashboard at once see it when they save, and load or replace the other's changes", async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await put(user, 'one', { title: 'One' })
  await house.signInAt('/dashboards/board/one/edit')
  const title = page.getByLabel('Title')
  const save = () => page.getByRole('button', { name: 'Save', exact: true }).click()
  await title.fill('Mine')
  await put(user, 'one', { title: 'Theirs', description: 'Of another person' })
  await save()
  await page.getByText('Somebody has saved this dashboard meanwhile. Yours is not saved.').waitFor()
  await assertAccessibleEverywhere(page)
  assert.equal(await title.inputValue(), 'Mine')
  assert.equal((await read(user, 'one')).title, 'Theirs')
  await page.getByRole('button', { name: 'Load theirs' }).click()
  assert.equal(await page.getByLabel('Description').inputValue(), 'Of another person')
  await page.getByText('Not saved yet').waitFor({ state: 'detached' })
  await title.fill('Mine again')
  await put(user, 'one', { title: 'Theirs again' })
  await save()
  await page.getByRole('button', { name: 'Replace theirs' }).click()
  await page.getByRole('heading', { name: 'Mine again' }).waitFor()
  assert.equal((await read(user, 'one')).description, 'Of another person')
  await house.goTo('/dashboards/new')
  await title.fill('Two')
  await put(user, 'two', { title: 'Made meanwhile' })
  await save()
  await page.getByText('Their title is “Made meanwhile”').waitFor()
  await page.getByRole('button', { name: 'Load theirs' }).click()
  await page.getByRole('heading', { name: 'Made meanwhile' }).waitFor()
  await title.fill('Deleted meanwhile')
  const gone = `${user.base}/api/v4/dashboards/two?api_key=${user.masterToken}`
  assert.equal((await fetch(gone, { method: 'DELETE' })).status, 204)
  await save()
  await page.getByRole('button', { name: 'Save it again' }).click()
  await page.getByRole('heading', { name: 'Deleted meanwhile' }).waitFor()
})

test('a dashboard saved by another person since it was opened is not deleted before its editor has seen that', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await put(user, 'one', { title: 'One' })
  await house.signInAt('/dashboards/board/one/edit')
  const remove = async () => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Delete the dashboard?' })
    await question.getByRole('button', { name: 'Delete', exact: true }).click()
  }
  const refused = page.getByText('Somebody has saved this dashboard meanwhile. It is not deleted.')
  await put(user, 'one', { title: 'Theirs' })
  await remove()
  await refused.waitFor()
  await page.getByText('Their title is “Theirs”').waitFor()
  await assertAccessibleEverywhere(page)
  assert.equal((await read(user, 'one')).title, 'Theirs')
  await page.getByRole('button', { name: 'Load theirs' }).click()
  await page.getByRole('heading', { name: 'Theirs' }).waitFor()
  await put(user, 'one', { title: 'Theirs again' })
  await remove()
  await refused.waitFor()
  await page.getByRole('button', { name: 'Delete theirs' }).click()
  await page.waitForURL('**/console/dashboards')
  const gone = `${user.base}/api/v4/dashboards/one?api_key=${user.masterToken}`
  assert.equal((await fetch(gone)).status, 404)
})

test('a dashboard with unsaved changes asks once before its editor signs out', async (t) => {
  const house = await openConsole(t)
  const { page, user } = house
  await put(user, 'one', { title: 'One' })
  await house.signInAt('/dashboards/board/one/edit')
  const title = page.getByLabel('Title')
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  const askedByBrowser: string[] = []
  page.on('dialog', async (dialog) => {
    askedByBrowser.push(dialog.type())
    await dialog.accept()
  })
  const signOut = async () => {
    await page.getByRole('button', { name: user.username }).click()
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  }
  await title.fill('Another title')
  await signOut()
  await question.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await title.inputValue(), 'Another title')
  assert.equal(new URL(page.url()).pathname, '/console/dashboards/board/one/edit')
  await signOut()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  assert.deepEqual(askedByBrowser, [])
  assert.equal((await read(user, 'one')).title, 'One')
})
