import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { eventually, type TestUser } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

const places = `
  create table places as select i as id, case when i % 4 = 0 then null else i % 100 end as score,
    case when i % 2 = 0 then 'even' else 'o''dd' end as "Kind", date '2026-01-01' + i % 365 as day,
    json_build_object('n', i % 3) as doc, ('SRID=4326;POINT(' || i % 10 || ' ' || i % 5 || ')')::geometry(Point, 4326) as the_geom
  from generate_series(1, 2000) i`

test("an analyzed table has PostgreSQL's statistics, and the page says so", async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(places)
  await signInAt('/tables')
  await analyzed(user, goTo, () =>
    source(page).getByText('Estimated by PostgreSQL (ANALYZE, just now) for about 2,000 rows.'),
  )
  assert.deepEqual((await row(page, 'id')).slice(0, 5), ['integer', '0 %', '2,000', '1', '2000'])
  const [, nulls, distinct, least, largest] = await row(page, 'score')
  assert.deepEqual([nulls, distinct, least, largest], ['25 %', '75', '1', '99'])
  assert.match((await row(page, 'Kind')).at(-1)!, /^(even|o'dd) 50 %(even|o'dd) 50 %$/)
  const shape = await row(page, 'the_geom')
  assert.deepEqual([shape[3], shape.at(-1)], ['0 0 to 9 4', ''])
  await page.getByRole('img', { name: 'Distribution of day from 2026-01-01 to 2026-12-31' }).waitFor()
  await assertAccessibleEverywhere(page)
})

test('a table that was not analyzed, or changed much since, is counted or sampled, and the page says so', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(`${places}; alter table places set (autovacuum_enabled = off)`)
  await signInAt('/tables/public/places/statistics')
  await source(page).getByText('Counted in all 2,000 rows.').waitFor()
  const [, nulls, distinct, least, largest] = await row(page, 'score')
  assert.deepEqual([nulls, distinct, least, largest], ['25 %', '75', '1', '99'])
  assert.equal((await row(page, 'the_geom'))[3], '0 0 to 9 4')
  assert.match((await row(page, 'doc')).at(-1)!, /\{"n" : 1\} 33.4 %/)
  assert.match((await row(page, 'Kind')).at(-1)!, /^(even|o'dd) 50 %(even|o'dd) 50 %$/)

  await user.sql('analyze places; insert into places select i, 1 from generate_series(1, 38000) i')
  await eventually(async () => {
    await goTo('/tables/public/places/statistics')
    await source(page)
      .getByText(/Estimated from a sample of [\d,]+ rows/)
      .waitFor({ timeout: 5_000 })
  }, 60_000)
  await user.sql('analyze places')
  await goTo('/tables/public/places/statistics')
  await source(page)
    .getByText(/by PostgreSQL .* about 40,000 rows/)
    .waitFor()
  await page.getByRole('button', { name: 'Read a sample instead' }).click()
  await source(page).getByText('Estimated from a sample of 10,000 rows.').waitFor()
})

test('the rows of a view are sampled only on request, and a table without rows says so', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(`${places}; create view v as select * from places; create table none (a int, b json)`)
  await signInAt('/tables/public/v/statistics')
  await page
    .getByText('PostgreSQL has no statistics of this view. Reading rows of it may take a while.')
    .waitFor()
  await page.getByRole('button', { name: 'Read a sample' }).click()
  await source(page).getByText('Counted in all 2,000 rows.').waitFor()
  await goTo('/tables/public/none/statistics')
  await page.getByText('No rows, so there is nothing to count.').waitFor()
})

test('hostile names, huge values, every type and an error are shown', async (t) => {
  const { page, signInAt, goTo, user } = await openConsole(t)
  await user.sql(`create type mood as enum ('sad', 'ok');
    create table "q"" '; drop table x;--" ("a"" '--" text, m mood, arr int[], j jsonb, p point, b bytea, x xml, d double precision, t timestamptz, u uuid, f boolean, mo money, iv interval);
    insert into "q"" '; drop table x;--" select repeat('y', 3000000), 'ok', '{1}', '{}', '(1,2)', '\\x00', '<a/>', 'NaN', 'infinity', gen_random_uuid(), true, 1, '1 day' from generate_series(1, 3)`)
  await signInAt(`/tables/public/${encodeURIComponent(`q" '; drop table x;--`)}/statistics`)
  await source(page).getByText('Counted in all 3 rows.').waitFor()
  assert.match((await row(page, `a" '--`)).at(-1)!, /^\(long\) 100 %$/)
  assert.match((await row(page, 'm')).at(-1)!, /^ok 100 %$/)
  await user.sql('create view broken as select 1 / (random() > 2)::int as n')
  await goTo('/tables/public/broken/statistics')
  await page.getByRole('button', { name: 'Read a sample' }).click()
  await page.getByRole('alert').getByText('division by zero').waitFor()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
})

/** PostgreSQL reports inserted rows a moment late, also after an ANALYZE that counted them. */
async function analyzed(
  user: TestUser,
  goTo: (path: string) => Promise<void>,
  shown: () => Locator,
): Promise<void> {
  await eventually(async () => {
    await user.sql('analyze places')
    await goTo('/tables/public/places/statistics')
    await shown().waitFor({ timeout: 5_000 })
  }, 60_000)
}

const source = (page: Page) => page.getByTestId('statistics-source')

/** The cells of a column's line, without its name. */
async function row(page: Page, column: string): Promise<string[]> {
  const header = page.getByRole('rowheader', { name: column, exact: true })
  return page.getByRole('row').filter({ has: header }).getByRole('cell').allTextContents()
}
