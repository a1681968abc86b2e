import assert from 'node:assert/strict'
import { test } from 'node:test'
import { saved } from '../../support/queries/queries-api.ts'
import type { TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

const tables = `create table cities (name text, country text, people int, geom geometry(Point, 4326));
  insert into cities values ('Paris', 'FR', 2100000, st_point(2.35, 48.86, 4326)), ('<b>Oslo</b>', 'NO', 700000, st_point(10.7, 59.9, 4326))`

const dashboard = {
  title: 'Cities of <Europe>',
  description: 'Two of them',
  public: true,
  filters: [{ param: 'country', label: 'Country', type: 'text', default: 'FR', options: ['FR', 'NO'] }],
  parts: [
    { title: 'List', query: 'cities', as: 'table', x: 0, y: 0, w: 6, h: 4 },
    { title: 'Secret', query: 'secret', as: 'number', x: 6, y: 0, w: 6, h: 4 },
    { title: 'Map', query: 'cities', as: 'map', x: 0, y: 4, w: 12, h: 6 },
  ],
}

async function publish(user: TestUser, change: object = {}): Promise<void> {
  const answer = await fetch(`${user.base}/api/v4/dashboards/cities?api_key=${user.masterToken}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...dashboard, ...change }),
  })
  assert.ok(answer.ok, await answer.text())
}

test('a person without an account sees a public dashboard by its link, with the filter values in the address', async (t) => {
  const { page, user } = await openConsole(t, { drawsMaps: true })
  await user.sql(`${tables}; grant select on cities to public`)
  const params = { country: { type: 'text', default: 'FR' } }
  await saved(user, 'cities', {
    sql: 'select * from cities where country = :country',
    params,
    public: true,
  })
  await saved(user, 'secret', { sql: 'select 42 as answer' })
  await publish(user)
  const part = (name: string) => page.getByRole('region', { name, exact: true })
  await page.goto(`${user.base}/dashboard/cities`)
  assert.equal(await page.title(), 'Cities of <Europe>')
  await page.getByRole('heading', { name: 'Cities of <Europe>', level: 1 }).waitFor()
  await page.getByText('Two of them').waitFor()
  await part('List').getByRole('cell', { name: 'Paris' }).waitFor()
  await part('Secret').getByText("Query 'secret' of user").waitFor()
  assert.equal(await page.getByText('42', { exact: true }).count(), 0)
  await part('Map').getByText('1 shape').waitFor()
  await page.getByLabel('Country', { exact: true }).selectOption('NO')
  await part('List').getByRole('cell', { name: '<b>Oslo</b>' }).waitFor()
  assert.equal(new URL(page.url()).search, '?country=NO')
  await page.reload()
  await part('List').getByRole('cell', { name: '<b>Oslo</b>' }).waitFor()
  await part('Map').locator('canvas.maplibregl-canvas').waitFor()
  await assertAccessibleEverywhere(page)
})

test('the page of a private or missing dashboard is 404, also for its owner', async (t) => {
  const { user } = await openConsole(t)
  await publish(user, { public: false })
  const open = async (path: string) => {
    const answer = await fetch(`${user.base}/dashboard/${path}`)
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  for (const path of ['cities', 'nowhere', `cities?api_key=${user.masterToken}`, '%3Cb%3E']) {
    const { status, text, headers } = await open(path)
    assert.equal(status, 404, path)
    assert.match(text, /There is no such dashboard, or it is not public/)
    assert.match(headers.get('content-security-policy')!, /require-trusted-types-for 'script'/)
  }
  await publish(user, { title: `</title><script>alert('$&')</script>` })
  const { status, text, headers } = await open('cities')
  assert.equal(status, 200)
  assert.ok(!text.includes('<script>alert'), text)
  assert.equal(headers.get('cache-control'), 'no-cache')
  assert.match(headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self'/)
  assert.equal((await open('cities?api_key=wrong')).status, 401)
})

test('a press on a column head sorts the rows of a table on a dashboard, with the keyboard too', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  const save = (more = '') =>
    saved(user, 'things', {
      sql: `select * from (values ('item 10', 9007199254740993), ('item 9', 9007199254740992), ('Item 1', 25), (null, 3)${more}) as t (thing, n)`,
      public: true,
    })
  await save()
  await publish(user, { parts: [{ title: 'Things', query: 'things', as: 'table', x: 0, y: 0, w: 6, h: 5 }] })
  const table = page.getByRole('region', { name: 'Things', exact: true })
  const order = async (sort: string | null, things: readonly string[]) => {
    await table.locator(`th:nth-child(1)${sort ? `[aria-sort=${sort}]` : ':not([aria-sort])'}`).waitFor()
    assert.deepEqual(await table.locator('td:nth-child(1)').allTextContents(), things)
  }
  await page.goto(`${user.base}/dashboard/cities`)
  const head = table.getByRole('columnheader', { name: 'thing' }).getByRole('button')
  await head.click()
  await order('ascending', ['Item 1', 'item 9', 'item 10', 'NULL'])
  await assertAccessibleEverywhere(page)
  await head.press('Enter')
  await order('descending', ['item 10', 'item 9', 'Item 1', 'NULL'])
  await save(", ('item 11', 4)")
  await page.getByRole('button', { name: 'Refresh' }).click()
  await table.getByRole('cell', { name: 'item 11' }).waitFor()
  await order('descending', ['item 11', 'item 10', 'item 9', 'Item 1', 'NULL'])
  // The order stays over a read that fails.
  const rows = '**/queries/things/rows*'
  await page.route(rows, (route) => route.fulfill({ status: 503, json: { error: ['not now'] } }))
  await page.getByRole('button', { name: 'Refresh' }).click()
  await table.getByText('not now').waitFor()
  assert.equal(await table.getByRole('cell').count(), 0)
  await page.unroute(rows)
  await save(", ('item 11', 4), ('item 12', 5)")
  await table.getByRole('button', { name: 'Try again' }).click()
  await table.getByRole('cell', { name: 'item 12' }).waitFor()
  await order('descending', ['item 12', 'item 11', 'item 10', 'item 9', 'Item 1', 'NULL'])
  await head.press('Space')
  await order(null, ['item 10', 'item 9', 'Item 1', 'NULL', 'item 11', 'item 12'])
  await signInAt('/dashboards/board/cities')
  await table.getByRole('button', { name: 'n', exact: true }).click()
  await table.locator('th[aria-sort=ascending]').waitFor()
  await order(null, ['NULL', 'item 11', 'item 12', 'Item 1', 'item 9', 'item 10'])
})
