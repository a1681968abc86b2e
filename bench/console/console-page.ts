import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Frame } from '../frame/frame.ts'

/** A user of a running service, and the console in a browser without a sign-in. */
export type Console = Readonly<{
  url: string
  username: string
  token: string
  /** Of the user, and the role that owns it. */
  database: string
  browser: Browser
}>

export async function openConsole(
  frame: Frame,
  username: string,
  { drawsMaps = false } = {},
): Promise<Console> {
  const service = await frame.startService()
  const { api_key: token } = (await service.admin('POST', '/users', { username })) as { api_key: string }
  const browser = await chromium.launch({
    executablePath: process.env.CARTAGE_TEST_CHROMIUM || '/usr/bin/chromium',
    args: [
      // There is no GPU: the CPU has to draw maps, which slows everything else down too.
      ...(drawsMaps ? ['--enable-unsafe-swiftshader', '--use-angle=swiftshader'] : ['--disable-gpu']),
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
    timeout: 60_000,
  })
  frame.after(() => browser.close())
  return { url: service.url, username, token, database: `${service.namespace}_u1`, browser }
}

/** A page where the user is signed in, at the editor. */
export async function signIn(
  { browser, url, username, token }: Console,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Page> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    ...options,
  })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  await page.goto(`${url}/console/`)
  await page.getByLabel('User').fill(username)
  await page.getByLabel('API key').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('.cm-content').waitFor()
  return page
}

export async function write(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
