import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, resultTabs, write } from '../support/sql-page.ts'

const value = (page: Page, label: string) => page.getByLabel(label, { exact: true })

test('parameters have fields, and their values are bound, never part of the text', async (t) => {
  const { page, context, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await write(
    page,
    "select :town as town, $1 + :n as sum, ':no' as s, '1'::int as cast, (array[1, 2])[1:2] as slice",
  )
  await value(page, ':town').waitFor()
  assert.deepEqual(await page.locator('.parameter code').allTextContents(), [':town', '$1', ':n'])

  await page.keyboard.press('Control+Enter')
  const problems = page.locator('.parameter .problem')
  await eventually(async () => assert.deepEqual(await problems.allTextContents(), Array(3).fill('No value')))
  assert.equal(await resultTabs(page).count(), 0, 'nothing ran')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'value-of-:town')
  await assertAccessibleEverywhere(page)

  await page.keyboard.type("x'); drop table t; --")
  await value(page, '$1').fill('2')
  await page.getByLabel('Type of $1').selectOption('bigint')
  await value(page, ':n').fill('9007199254740993')
  await page.getByLabel('Type of :n').selectOption('numeric')
  const sent = context.waitForEvent('request', (request) => request.url().includes('/api/v2/sql'))
  await page.keyboard.press('Control+Enter')
  const body = (await sent).postDataJSON() as { q: string; params: unknown }
  assert.deepEqual(body.params, ['2', "x'); drop table t; --", '9007199254740993'])
  assert.doesNotMatch(body.q, /drop table/)
  await eventually(async () =>
    assert.deepEqual(await cells(page), [["x'); drop table t; --", '9007199254740995', ':no', '1', '[1,2]']]),
  )

  await page.getByLabel('NULL for :n').check()
  await page.keyboard.press('Control+Enter')
  await eventually(async () => assert.equal((await cells(page))[0]?.[1], 'NULL'))

  // The values stay with the draft.
  await page.reload()
  await value(page, ':town').waitFor()
  assert.equal(await value(page, ':town').inputValue(), "x'); drop table t; --")
  assert.equal(await page.getByLabel('Type of :n').inputValue(), 'numeric')
  assert.ok(await page.getByLabel('NULL for :n').isChecked())
})

test('an error is marked at its word, and plans, transactions and downloads use the values', async (t) => {
  const { page, user, signInAt } = await openConsole(t)
  await user.sql('create table towns (name text, people int)')
  await user.sql("insert into towns values ('Oslo', 700), ('Rome', 2800)")
  await signInAt('/sql')
  await write(page, 'select :most, nowhere from towns')
  await value(page, ':most').fill('[1, 2]')
  await page.getByLabel('Type of :most').selectOption('integer[]')
  await page.keyboard.press('Control+Enter')
  await eventually(async () =>
    assert.equal(await page.locator('.cm-lintRange-error').textContent(), 'nowhere'),
  )

  await write(page, 'select name from towns where people > :least')
  await value(page, ':least').fill('1000')
  await page.keyboard.press('Control+Enter')
  await eventually(async () => assert.deepEqual(await cells(page), [['Rome']]))
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download ▾' }).click()
  await page.getByRole('menuitem', { name: 'CSV', exact: true }).click()
  const chunks: Buffer[] = []
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer)
  assert.equal(Buffer.concat(chunks).toString(), 'name\r\nRome\r\n')

  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Explain analyze' }).click()
  await page.getByText('Seq Scan').first().waitFor()

  await write(page, 'begin; update towns set people = :least; select sum(people) from towns; rollback')
  await page.keyboard.press('Control+Shift+Enter')
  await page.getByRole('button', { name: 'Run anyway' }).click()
  await resultTabs(page).filter({ hasText: 'select sum' }).click()
  await eventually(async () => assert.deepEqual(await cells(page), [['2000']]))
  assert.deepEqual((await user.sql('select sum(people)::int as n from towns')).rows, [{ n: 3500 }])
})
