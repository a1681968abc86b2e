import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openConsole } from './open-console.ts'
import { chooseFile } from './upload-page.ts'

test('a table of 1,600 columns with the longest names gets rows whose columns need not be named; else it is told before', async (t) => {
  const { page, signInAt, user } = await openConsole(t, { setup: { worker: true } })
  const names = Array.from(
    { length: 1600 },
    (_, at) => `${'a_name_as_long_as_postgresql_takes_'.repeat(2).slice(0, 58)}_${1000 + at}`,
  )
  await user.sql(`create table wide (${names.map((name) => `${name} int`).join(', ')})`)
  await signInAt('/upload')
  const choose = async (header: readonly string[]) => {
    await chooseFile(page, 'w.csv', Buffer.from(`${header.join(',')}\n7${','.repeat(1599)}\n`))
    await page.getByText('1 row, all read').waitFor()
    await page.getByLabel('Into').selectOption({ label: 'Append to wide' })
  }
  await choose([...names].reverse())
  await page
    .getByText('The names of these 1,600 columns are too long for one request: let the file have all')
    .waitFor()
  assert.ok(await page.getByRole('button', { name: 'Append to wide' }).isDisabled())
  await page.getByRole('button', { name: 'Another file' }).click()
  await choose(names)
  await page.getByRole('button', { name: 'Append to wide' }).click()
  await page.getByText('wide has 1 new row').waitFor()
  const { rows } = await user.sql(`select ${names[0]} as first, ${names[1599]} as last from wide`)
  assert.deepEqual(rows, [{ first: 7, last: null }])
})
