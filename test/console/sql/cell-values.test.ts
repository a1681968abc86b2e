import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, run } from '../support/sql-page.ts'

/** Of 3 × 2 pixels and, only by its header, of 30,000 × 30,000. */
const png =
  '89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d0000001049444154789c6338a1a101410c70160045740691f131fd240000000049454e44ae426082'
const vastPng =
  '89504e470d0a1a0a0000000d4948445200007530000075300802000000e9456fed0000000849444154789c030000000001480689d20000000049454e44ae426082'
const gif = 'data:image/gif;base64,R0lGODlhAgABAIAAAAAAAAD///8sAAAAAAIAAQAAAgIMCgA7'

async function open(page: Page, text: string): Promise<void> {
  await run(page, text)
  await eventually(async () => assert.equal((await cells(page)).length, 1))
  await page.getByRole('gridcell').first().dblclick()
  await page.getByRole('group', { name: 'Value' }).waitFor()
}

const value = (page: Page) => page.getByRole('group', { name: 'Value' })

/** The size of the picture as the browser decoded it. */
const sizeOf = (page: Page) =>
  value(page)
    .getByRole('img')
    .evaluate(async (image: HTMLImageElement) => {
      await image.decode()
      return [image.naturalWidth, image.naturalHeight]
    })

test('the panel of a cell shows JSON as a tree with every digit and member', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await open(
    page,
    `select '{"b": 12345678901234567890.10, "1": [1e400, "x, ]", {}], "b": null, "e": []}'::json as v`,
  )
  await value(page).getByText('[3]').click()
  await eventually(async () =>
    assert.deepEqual(await value(page).locator('div:not(.tree, .row)').allTextContents(), [
      'b: 12345678901234567890.10',
      '0: 1e400',
      '1: "x, ]"',
      'b: null',
    ]),
  )
  await value(page).getByText('{0}').waitFor()
  await assertAccessibleEverywhere(page)
  await value(page).getByRole('button', { name: 'Text' }).click()
  await value(page).getByText('{"b": 12345678901234567890.10, "1"').waitFor()
  // On a narrow screen the cell covers the grid.
  await page.getByRole('button', { name: 'Close the cell' }).click()
  await open(page, `select '[{"a": 1}]' as v`)
  await value(page).getByRole('button', { name: 'Tree' }).click()
  await value(page).getByText('[1]').waitFor()
})

test('a picture in bytea or a data: URL is drawn by its content, whatever its declared type, and saved as its bytes', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await open(page, `select decode('${png}', 'hex') as v`)
  await value(page).getByText('PNG · 3 × 2 pixels · 73 B').waitFor()
  assert.deepEqual(await sizeOf(page), [3, 2])
  await assertAccessibleEverywhere(page)
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save', exact: true }).click(),
  ])
  assert.equal(saved.suggestedFilename(), 'v-1.png')
  assert.equal((await readFile(await saved.path())).toString('hex'), png)
  const others = await page.evaluate(() => {
    const canvas = document.createElement('canvas')
    canvas.width = 5
    canvas.height = 4
    return ['jpeg', 'webp'].map((kind) => canvas.toDataURL(`image/${kind}`))
  })
  for (const url of others) {
    // Declared as another type.
    await open(page, `select '${url.replace(/image\/\w+/, 'image/x')}' as v`)
    await value(page)
      .getByText(/^(JPEG|WEBP) · 5 × 4 pixels/)
      .waitFor()
    assert.deepEqual(await sizeOf(page), [5, 4])
  }
  await open(page, `select '${gif}' as v`)
  await value(page).getByText('GIF · 2 × 1 pixels').waitFor()
  await open(page, `select decode('${vastPng}', 'hex') as v`)
  await value(page).getByText('More than 50,000,000 pixels take much memory.').waitFor()
  assert.equal(await value(page).getByRole('img').count(), 0)
  await open(page, `select decode('${png.slice(0, 60)}', 'hex') as v`)
  await value(page).getByText('It begins like a PNG, but the browser cannot draw it.').waitFor()
  await open(page, `select '\\x00ff'::bytea as v`)
  await value(page).getByText('\\x00ff').waitFor()
  await page.getByRole('complementary').getByText('bytea · row 1 · 2 B').waitFor()
})

test('JSON of many members is a tree of the first 200, and of more when asked', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  for (const many of ['json_agg(n)', 'json_object_agg(n, n)']) {
    await open(page, `select ${many} as v from generate_series(0, 499) n`)
    const member = (at: number) =>
      value(page)
        .locator('.tree > div')
        .filter({ hasText: `${at}: ${at}` })
    await member(199).waitFor()
    assert.equal(await value(page).locator('.tree > div').count(), 200)
    await value(page).getByRole('button', { name: '300 more' }).click()
    await value(page).getByRole('button', { name: '100 more' }).click()
    await member(499).waitFor()
    assert.equal(await value(page).locator('.tree > div').count(), 500)
    await page.getByRole('button', { name: 'Close the cell' }).click()
  }
})

test('a long text is shown part by part, to its last character', async (t) => {
  const { page, signInAt } = await openConsole(t)
  await signInAt('/sql')
  await open(page, `select repeat('x', 450000) || ' the end' as v`)
  await value(page).getByText('350,008 more characters').waitFor()
  for (const rest of ['250,008', '150,008', '50,008']) {
    await value(page).getByRole('button', { name: 'Show 100,000 more' }).click()
    await value(page).getByText(`${rest} more characters`).waitFor()
  }
  await value(page).getByRole('button', { name: 'Show 50,008 more' }).click()
  await eventually(async () => assert.match((await value(page).textContent())!, /^x{450000} the end$/))
})
