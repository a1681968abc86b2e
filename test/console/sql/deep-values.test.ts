import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, run } from '../support/sql-page.ts'

const values = {
  'of 2,000 levels': `select (repeat('[', 2000) || repeat(']', 2000))::json as v`,
  'of 5,000 levels': `select (repeat('{"a":', 5000) || '1' || repeat('}', 5000))::json as v`,
  'of 300 x 300 x 5': `select json_agg(r) as v from (select json_agg(json_build_array(1,2,3,4,5)) as r from generate_series(1, 300) a, generate_series(1, 300) b group by a) x`,
  'of a long text': `select repeat('x', 5000000) as v`,
  'of long texts': `select json_build_object('a', repeat('x', 2000000)) as v`,
}

test('a value of any depth and size opens without blocking the page', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  for (const [what, text] of Object.entries(values)) {
    await run(page, text)
    await eventually(async () => assert.equal((await cells(page)).length, 1))
    await page.locator('.grid-body [role="gridcell"]').first().dblclick()
    const value = page.getByRole('group', { name: 'Value' })
    await value.waitFor()
    await eventually(async () => assert.notEqual(await value.textContent(), ''))
    const drawn = await value.evaluate((shown) => ({
      nodes: shown.querySelectorAll('*').length,
      characters: shown.textContent?.length ?? 0,
    }))
    assert.ok(drawn.nodes < 5_000 && drawn.characters <= 210_000, `${what}: ${JSON.stringify(drawn)}`)
    // Inner nodes are drawn when they are opened.
    const inner = value.locator('.tree summary').first()
    if ((await inner.count()) > 0) {
      await inner.click()
      await value.locator('.tree .tree').first().waitFor()
    }
    await page.getByRole('button', { name: 'Close the cell' }).click()
  }
})
