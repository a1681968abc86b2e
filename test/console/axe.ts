import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

type Finding = Readonly<{ id: string; help: string; nodes: readonly { html: string }[] }>

/** The same in both themes, on a telephone and on a wide screen; there, nothing scrolls sideways. */
export async function assertAccessibleEverywhere(page: Page): Promise<void> {
  const before = page.viewportSize()!
  for (const width of [360, 1400]) {
    await page.setViewportSize({ width, height: 800 })
    for (const theme of ['light', 'dark']) {
      await page.evaluate((name) => {
        document.documentElement.dataset.theme = name
        return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
      }, theme)
      await assertAccessible(page)
    }
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(excess <= 0, `the page is ${excess} px too wide at ${width} px`)
  }
  await page.setViewportSize(before)
}

/** Nobody is kept out of what is on the screen now. Over the debugger, so that the policy of the page stays on. */
export async function assertAccessible(page: Page): Promise<void> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  const debug = await page.context().newCDPSession(page)
  try {
    await debug.send('Runtime.evaluate', { expression: source })
    const { result } = await debug.send('Runtime.evaluate', {
      expression: `axe.run(${JSON.stringify(options)}).then(({ violations }) => JSON.stringify(violations))`,
      awaitPromise: true,
    })
    const findings = JSON.parse(String(result.value)) as Finding[]
    assert.deepEqual(
      findings.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map(({ html }) => html).slice(0, 3) })),
      [],
    )
  } finally {
    await debug.detach()
  }
}

const options = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}
