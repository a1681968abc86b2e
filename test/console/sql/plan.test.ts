import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { readPlan } from '../../../console/result/plan/plan.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { clipboard, write } from '../support/sql-page.ts'

const analyze = async (page: Page) => {
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Explain analyze' }).click()
}

const tree = (page: Page) => page.getByRole('treegrid', { name: 'Plan' })

test('a plan is a tree with costs, rows, self times and buffers, the slowest node marked, and its raw text', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places as select i, i % 10 as kind from generate_series(1, 5000) i')
  await signIn()
  await write(
    page,
    `with slow as materialized (select pg_sleep(0.3), count(*) as n from places where kind = 3)
    select n from slow union all select 1 from slow`,
  )
  await analyze(page)
  const rows = tree(page).locator('tbody tr')
  const slowest = rows.filter({ hasText: 'slowest' })
  await slowest.waitFor()
  // Not the scan of the CTE in which it ran.
  assert.match((await slowest.textContent())!, /^▾CTE slow: Aggregate slowest/)
  assert.deepEqual(await tree(page).getByRole('columnheader').allTextContents(), [
    ...['Node', 'Cost', 'Estimated rows', 'Actual rows', 'Self time', 'Buffers'],
  ])
  const scan = rows.filter({ hasText: 'Seq Scan on places' })
  assert.match((await scan.textContent())!, /Filter: \(kind = 3\).*500.*ms.*\d$/s)
  assert.equal(await scan.getAttribute('aria-level'), '3')
  await assertAccessibleEverywhere(page)

  const all = await rows.count()
  await rows.first().focus()
  await page.keyboard.press('ArrowDown')
  assert.match((await page.evaluate(() => document.activeElement?.textContent))!, /CTE slow/)
  await page.keyboard.press('ArrowLeft')
  await scan.waitFor({ state: 'detached' })
  assert.equal(await rows.count(), all - 1)
  assert.equal(await slowest.getAttribute('aria-expanded'), 'false')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Enter')
  await eventually(async () => assert.equal(await rows.count(), 1))
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('End')
  assert.match((await page.evaluate(() => document.activeElement?.textContent))!, /CTE Scan on slow/)
  await rows.filter({ hasText: 'CTE slow' }).locator('.turn').click()
  await scan.waitFor()

  await page.getByRole('tab', { name: 'Text' }).click()
  const text = await page.getByRole('region', { name: 'The plan as PostgreSQL wrote it' }).textContent()
  assert.match(text!, /^\[\n {2}\{\n {4}"Plan": \{\n {6}"Node Type": "Append",[\s\S]*\d\.\d\d[\s\S]*\n\]$/)
  await page.getByRole('button', { name: 'Copy as JSON' }).click()
  await eventually(async () => assert.equal(await clipboard(page), text))
  await assertAccessible(page)
  await page.getByRole('tab', { name: 'Tree' }).click()
  await write(page, 'select 1')
  await page.keyboard.press('Control+Shift+e')
  await tree(page).waitFor()
  assert.deepEqual(await tree(page).getByRole('columnheader').allTextContents(), [
    ...['Node', 'Cost', 'Estimated rows'],
  ])
})

test('EXPLAIN ANALYZE of a write is rolled back', async (t) => {
  const { page, signIn, user } = await openConsole(t)
  await user.sql('create table places as select i, i % 10 as kind from generate_series(1, 5000) i')
  await signIn()
  await write(page, 'delete from places where kind = 3')
  await analyze(page)
  await tree(page).getByText('ModifyTable (Delete) on places').waitFor()
  await tree(page).getByText('Actual rows').waitFor()
  for (const text of [
    'select 1; delete from places',
    'delete from places; commit',
    'select 1 as €$$; delete from places; --$$',
  ]) {
    await write(page, text)
    await page.keyboard.press('Control+a')
    await analyze(page)
    await page.getByText('A plan is of one statement, and here are 2').last().waitFor()
  }
  assert.equal((await user.sql('select from places')).rowCount, 5000)
})

const node = (type: string, ms: number, loops: number, more: object = {}) => ({
  'Node Type': type,
  'Startup Cost': 0,
  'Total Cost': 1,
  'Plan Rows': 10,
  'Actual Rows': 10,
  'Actual Loops': loops,
  'Actual Total Time': ms,
  'Shared Hit Blocks': 0,
  'Shared Read Blocks': 0,
  ...more,
})

test('self times and buffers of loops and parallel processes add up to the total', () => {
  const scan = node('Seq Scan', 80, 3, { 'Shared Hit Blocks': 6, 'Parallel Aware': true })
  const index = node('Index Scan', 0.5, 20, { 'Shared Hit Blocks': 40, 'Shared Read Blocks': 2 })
  const gather = node('Gather', 100, 1, {
    'Shared Hit Blocks': 6,
    'Workers Planned': 4,
    'Workers Launched': 2,
    Plans: [scan],
  })
  const root = node('Nested Loop', 115, 1, {
    'Shared Hit Blocks': 46,
    'Shared Read Blocks': 2,
    Plans: [gather, index],
  })
  const { lines } = readPlan(JSON.stringify([{ Plan: root }]))
  assert.deepEqual(
    lines.map(({ title, met }) => [title, met!.ms, met!.hit, met!.read, met!.rows]),
    [
      ['Nested Loop', 5, 0, 0, 10],
      ['Gather', 20, 0, 0, 10],
      ['Parallel Seq Scan', 80, 6, 0, 30],
      ['Index Scan', 10, 40, 2, 200],
    ],
  )
  assert.deepEqual(
    lines.filter(({ isSlowest }) => isSlowest).map(({ title }) => title),
    ['Parallel Seq Scan'],
  )
  assert.deepEqual(lines[1]!.warnings, ['2 of 4 workers'])
})
