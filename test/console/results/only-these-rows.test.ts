import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onlyTheseRows, whyNotOnly } from '../../../console/sql/results/only-these-rows.ts'
import { setup } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { editor, summary, write } from '../support/sql-page.ts'

test('the filter of a cell finds the rows with its value, of each type as the service writes it', async (t) => {
  const { user } = await setup(t)
  const statement = `select * from (values
    (1, 0.1::float4, timestamptz '2026-01-31 10:00+02', timestamp '2026-01-31 10:00', date '2026-01-31', 'it''s', true, '{1,2}'::int[], '\\x0aff'::bytea, '{"a": 1}'::jsonb),
    (2, 7, now(), now(), date '2000-01-01', null, null, null, null, null)) t (n, f, z, s, d, "Some text", b, a, y, j) -- all;`
  const read = async (q: string) => {
    const answer = await fetch(`${user.base}/api/v2/sql?api_key=${user.masterToken}`, {
      method: 'POST',
      body: new URLSearchParams({ q }),
    })
    const body = (await answer.json()) as { rows: Record<string, unknown>[] }
    assert.equal(answer.status, 200, JSON.stringify(body))
    return body.rows
  }
  const [row] = await read(statement)
  for (const [name, value] of Object.entries(row!)) {
    const text = Array.isArray(value) ? '{1,2}' : typeof value === 'object' ? '{"a": 1}' : String(value)
    const found = await read(onlyTheseRows(statement, name, text))
    assert.deepEqual(
      found.map(({ n }) => n),
      [1],
      `${name}: ${text}`,
    )
  }
  const none = await read(onlyTheseRows(statement, 'Some text', null))
  assert.deepEqual(
    none.map(({ n }) => n),
    [2],
  )
})

test('what cannot be filtered by a value says why', () => {
  const columns = [
    { name: 'n', type: 'number', pgtype: 'int4' },
    { name: 'twice', type: 'string', pgtype: 'text' },
    { name: 'twice', type: 'string', pgtype: 'text' },
    { name: 'j', type: 'string', pgtype: 'json' },
    { name: 'g', type: 'geometry', pgtype: 'geometry' },
    ...['circle', 'path', 'geography', '_json', '_xml', '_point', '_box'].map((pgtype) => ({
      name: pgtype,
      type: 'string',
      pgtype,
    })),
    { name: 'texts', type: 'string', pgtype: '_text' },
  ]
  const why = (at: number, text = ' -- all\n select 1', value: string | null = '1') =>
    whyNotOnly(text, columns, { at, value })
  assert.equal(why(0), undefined)
  assert.equal(why(0, undefined, null), undefined)
  assert.match(why(0, 'delete from t returning *')!, /SELECT/)
  assert.match(why(1)!, /several columns twice/)
  assert.match(why(3)!, /json/)
  assert.match(why(4)!, /geometry/)
  for (let at = 5; at < columns.length - 1; at++)
    assert.equal(why(at), `Values of type ${columns[at]!.pgtype} cannot be compared`)
  assert.equal(why(columns.length - 1), undefined)
  assert.match(why(0, undefined, 'x'.repeat(1_001))!, /too long/)
  assert.equal(why(0, '/* a **/ ( -- b\n (select 1) union select 2)'), undefined)
  const begun = performance.now()
  assert.match(why(0, '/**/'.repeat(30))!, /SELECT/)
  assert.ok(performance.now() - begun < 1_000, 'many comments take no time')
})

test('Filter beside a cell writes the statement into a new draft, with the values of parameters, and runs nothing', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await write(page, "select i, 'kind ' || i % 3 as kind from generate_series(1, 9) i; -- all")
  // A selection is run as it is.
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('gridcell', { name: 'kind 1' }).first().dblclick()
  await page.getByRole('complementary').getByRole('button', { name: 'Filter' }).click()
  await editor(page).getByText('where kind = ').waitFor()
  await summary(page).filter({ hasText: '9 rows' }).waitFor()
  await page.keyboard.press('Control+Shift+Enter')
  await summary(page).filter({ hasText: '3 rows' }).waitFor()
})
