import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

type Finding = Readonly<{ id: string; help: string; nodes: readonly { html: string }[] }>

/** Runs axe in both themes, at phone and desktop width. Also checks that the page does not scroll sideways. */
export async function assertAccessibleEverywhere(page: Page): Promise<void> {
  const before = page.viewportSize()!
  for (const width of [360, 1400]) {
    await page.setViewportSize({ width, height: 800 })
    await showTheme(page, 'light')
    await assertAccessible(page)
    await showTheme(page, 'dark')
    // A theme changes only colours.
    await assertNoFindings(page, { runOnly: ['color-contrast'] })
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(excess <= 0, `the page is ${excess} px too wide at ${width} px`)
  }
  await page.setViewportSize(before)
}

/** Runs axe on what is on the screen. */
export const assertAccessible = (page: Page) => assertNoFindings(page, allRules)

const allRules = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }

function showTheme(page: Page, theme: 'light' | 'dark'): Promise<void> {
  return page.evaluate((name) => {
    document.documentElement.dataset.theme = name
    return new Promise<void>((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))
  }, theme)
}

/** Injected by the debugger, so that the page's content security policy stays active. */
async function assertNoFindings(page: Page, options: typeof allRules): Promise<void> {
  const debug = await page.context().newCDPSession(page)
  const evaluate = async (expression: string) =>
    (await debug.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result
      .value as unknown
  try {
    assert.deepEqual(await axeFindings(evaluate, options), [])
  } finally {
    await debug.detach()
  }
}

/** The findings of axe on a page in which `evaluate` returns the value of an expression. */
export async function axeFindings(
  evaluate: (expression: string) => Promise<unknown>,
  options = allRules,
): Promise<readonly unknown[]> {
  if ((await evaluate('typeof axe')) === 'undefined') await evaluate(`(() => {${await readAxe()}})()`)
  const quick = { ...options, resultTypes: ['violations'], preload: false, elementRef: false }
  const findings = (await evaluate(
    `axe.run(${JSON.stringify(quick)}).then(({ violations }) => JSON.parse(JSON.stringify(violations)))`,
  )) as Finding[]
  return findings.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.map(({ html }) => html).slice(0, 3),
  }))
}

const readAxe = () => readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
