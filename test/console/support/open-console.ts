import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { type Setup, type SetupOptions, setup, type TestUser } from '../../support/service/setup.ts'
import { browser } from './browser.ts'
import { provideConsole } from './provide-console.ts'

export type OpenOptions = Readonly<{
  setup?: SetupOptions
  context?: BrowserContextOptions
  drawsMaps?: boolean
  /** Returns the URL of the console if another process than the set-up's serves it. */
  servedAt?: (started: Setup) => Promise<string>
  /** Problems that the test expects. */
  expected?: RegExp
}>

export type OpenedConsole = Setup &
  Readonly<{
    page: Page
    context: BrowserContext
    /** Opens a page of the console, such as `/sql`. */
    goTo: (path: string) => Promise<void>
    signIn: (user?: TestUser, token?: string) => Promise<void>
    /** Signs in on this page, which saves a page load. */
    signInAt: (path: string, user?: TestUser) => Promise<void>
  }>

/**
 * Opens the console of a running service in a browser, not signed in. An error of the page, a violation of its policy
 * or a request to another origin fails the test at its end.
 */
export async function openConsole(t: TestContext, options: OpenOptions = {}): Promise<OpenedConsole> {
  await provideConsole()
  const house = await setup(t, options.setup)
  const started = { ...house, url: (await options.servedAt?.(house)) ?? house.url }
  const context = await sharedContext(options, started.url)
  const problems = watchProblems(context, new URL(started.url).origin)
  t.after(async () => {
    for (const page of context.pages().slice(1)) await page.close()
    context.removeAllListeners()
    assert.deepEqual(
      problems.filter((problem) => !options.expected?.test(problem)),
      [],
    )
  })
  const page = await context.newPage()
  const goTo = async (path: string) => {
    await page.goto(`${started.url}/console${path}`)
  }
  const signInAt = async (path: string, user = started.user, token = user.masterToken) => {
    await goTo(path)
    await fillSignIn(page, user.username, token)
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  }
  const signIn = (user?: TestUser, token?: string) => signInAt('/', user, token)
  return { ...started, page, context, goTo, signIn, signInAt }
}

/** Tests with the same options share a context and its cache. Each test has its own user, and so its own storage. */
function sharedContext(
  { drawsMaps = false, context = {} }: OpenOptions,
  url: string,
): Promise<BrowserContext> {
  const name = JSON.stringify({ drawsMaps, context })
  const known = contexts.get(name) ?? openContext(name, drawsMaps, context, url)
  contexts.set(name, known)
  return known
}

const contexts = new Map<string, Promise<BrowserContext>>()

async function openContext(
  name: string,
  drawsMaps: boolean,
  options: BrowserContextOptions,
  url: string,
): Promise<BrowserContext> {
  const context = await (await browser(drawsMaps)).newContext({
    // A small map is drawn faster.
    viewport: drawsMaps ? { width: 800, height: 600 } : { width: 1280, height: 800 },
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
    ...options,
  })
  context.setDefaultTimeout(60_000)
  // Keeps the process of the pages alive between tests.
  const keeper = await context.newPage()
  await keeper.goto(`${url}/health`)
  // A crashing page ends the others of its process too, and a context with a crashed page has no clock.
  keeper.on('crash', () => contexts.delete(name))
  return context
}

export async function fillSignIn(page: Page, username: string, token: string): Promise<void> {
  await page.getByLabel('User').fill(username)
  await page.getByLabel('API key').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

function watchProblems(context: BrowserContext, origin: string): string[] {
  const problems: string[] = []
  context.on('weberror', (error) => problems.push(`error: ${error.error().stack ?? error.error().message}`))
  context.on('console', (message) => {
    // Logged by the browser for every error status. The console shows these errors itself.
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return
    const { url, lineNumber, columnNumber } = message.location()
    problems.push(`console: ${message.text()} (${url}:${lineNumber}:${columnNumber})`)
  })
  context.on('request', (request) => {
    const url = new URL(request.url())
    if (!['data:', 'blob:'].includes(url.protocol) && url.origin !== origin) {
      problems.push(`request to another origin: ${request.url()}`)
    }
  })
  return problems
}
