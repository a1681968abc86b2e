import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type Inline, readInlines, readMarkdown } from '../../../console/guide/markdown.ts'
import { eventually } from '../../support/service/setup.ts'
import { assertAccessibleEverywhere } from '../support/axe.ts'
import { openConsole } from '../support/open-console.ts'

test('the console has the guide of its version: every page is shown, and links lead to the right place', async (t) => {
  const { page, signInAt, url } = await openConsole(t)
  await signInAt('/account')
  await page.getByRole('link', { name: 'Guide' }).first().click()
  await page.getByRole('heading', { name: 'Guide', exact: true }).waitFor()
  await page.getByRole('link', { name: 'API reference' }).waitFor()
  await assertAccessibleEverywhere(page)
  const links = await page
    .locator('.guide td a')
    .evaluateAll((found) => found.map((link) => link.getAttribute('href')!))
  assert.ok(links.length > 10, links.join(' '))

  for (const link of links) {
    await page.goto(url + link)
    await page.locator('.guide h1').waitFor()
    assert.equal(await page.getByText('The guide has no page').count(), 0, link)
    assert.doesNotMatch(await page.locator('.guide').innerText(), /\]\(|^\|/m, `${link} shows no Markdown`)
  }
  await page.goto(`${url}/console/guide/console`)
  await page.getByRole('cell', { name: 'run the statement at the cursor, or the selection' }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: 'Read what other members share' }).click()
  await eventually(() => assert.equal(page.url(), `${url}/console/guide/keys#read-what-other-members-share`))
  await eventually(async () => {
    const box = await page.getByRole('heading', { name: 'Read what other members share' }).boundingBox()
    assert.ok(box && box.y >= 0 && box.y < 400, `the heading is at ${box?.y}`)
  })
})

test('no text of the documentation is lost when it is read as Markdown', async () => {
  const folder = 'docs/guide'
  for (const name of await readdir(folder)) {
    const text = await readFile(`${folder}/${name}`, 'utf8')
    const shown = readMarkdown(text).flatMap((block): readonly Inline[] => {
      if (block.kind === 'table') return [block.head, ...block.rows].flat().flatMap(readInlines)
      if (block.kind === 'list') return block.items.flatMap(readInlines)
      return block.kind === 'code' ? [{ kind: 'code', text: block.text }] : readInlines(block.text)
    })
    const wordsIn = (from: string) => new Set(from.match(/\p{L}{3,}/gu) ?? [])
    const all = wordsIn(shown.map(({ text, to = '' }) => `${text} ${to}`).join(' '))
    const missing = [...wordsIn(text.replace(/^```\w*/gm, ''))].filter((word) => !all.has(word))
    assert.deepEqual(missing, [], name)
  }
})
