import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startFront } from '../support/http/http-front.ts'
import { basic, eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { browser } from './support/browser.ts'

/** Requests that a site can make a browser send. Each writes its number. */
const tricks: Record<string, (write: (n: number) => string) => string> = {
  image: (write) => `<img src="${write(1)}">`,
  script: (write) => `<script src="${write(2)}"></script>`,
  frame: (write) => `<iframe src="${write(3)}"></iframe>`,
  'form that posts': (write) => `<form method="post" action="${write(4)}" target="f"></form>
    <iframe name="f"></iframe><script>document.forms[0].submit()</script>`,
  'top-level navigation': (write) => `<script>location.href = ${JSON.stringify(write(5))}</script>`,
  'fetch without CORS': (write) =>
    `<script>fetch(${JSON.stringify(write(6))}, { mode: 'no-cors', credentials: 'include' })</script>`,
  'fetch with what the browser keeps': (write) =>
    `<script>fetch(${JSON.stringify(write(8))}, { credentials: 'include' })</script>`,
}

test('the service never asks a browser for a password, so no browser stores a token that another site could use', async (t) => {
  const { user, url } = await setup(t)
  await user.sql('create table written (n int)')
  // The browser has the password, in case it is asked.
  const page = await openPage(t, { username: user.username, password: user.masterToken })
  for (const path of [`/user/${user.username}/api/v3/api_keys`, '/api/v4/me', '/admin/v1/users']) {
    const refused = await page.goto(`${url}${path}`)
    assert.equal(refused?.status(), 401, path)
  }
  for (const [name, trick] of Object.entries(tricks)) {
    await visit(t, page, `${url}/user/`, trick(writeTo(user.base, 'bogus')), name)
  }
  assert.deepEqual(await writtenBy(user), [])
})

test('a token that a browser stores anyway is ignored for images, forms and links of another site', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql('create table written (n int)')
  const page = await openPage(t, { username: user.username, password: user.masterToken })
  const base = await rememberToken(t, bundle, page)
  for (const [name, trick] of Object.entries(tricks)) {
    await visit(t, page, `${base}/`, trick(writeTo(base)), name)
  }
  assert.deepEqual(await writtenBy(user), [])
  // The same request from the same site works.
  await page.goto(writeTo(base)(7))
  assert.deepEqual(await writtenBy(user), [7])
  for (const [name, trick] of Object.entries(tricks)) {
    await visit(t, page, `${base}/`, trick(writeTo(base, 'bogus')), `${name} with a bogus api_key`)
  }
  assert.deepEqual(await writtenBy(user), [7])
})

test('a page of another site can use its own token with fetch', async (t) => {
  const { user } = await setup(t)
  const page = await openPage(t)
  await page.goto(await startSite(t, 'localhost', '<p>a map</p>'))
  const { authorization } = basic(user.username, user.masterToken)
  const status = await page.evaluate(
    async ([url, header]) => (await fetch(url!, { headers: { authorization: header! } })).status,
    [`${user.base}/api/v3/api_keys`, authorization],
  )
  assert.equal(status, 200)
})

test('a browser is recognised over plain HTTP too, and only programs are asked for Basic', async (t) => {
  const { url, user } = await setup(t)
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const challenge = async (
    headers: Record<string, string>,
    path = `/user/${user.username}/api/v3/api_keys`,
  ) => (await fetch(`${url}${path}`, { headers })).headers.get('www-authenticate') ?? ''
  const browsers: Record<string, string>[] = [
    { 'user-agent': firefox },
    { 'user-agent': '' },
    { 'user-agent': 'renamed', 'sec-fetch-site': 'cross-site' },
    { 'user-agent': 'renamed', origin: 'https://elsewhere.example' },
    { 'user-agent': 'renamed', 'upgrade-insecure-requests': '1' },
  ]
  for (const headers of browsers) {
    for (const path of [
      undefined,
      '/api/v4/me',
      '/admin/v1/users',
      `/user/${user.username}/api/v2/sql?api_key=no`,
    ]) {
      assert.match(await challenge(headers, path), /^Cartage-Token realm=/, JSON.stringify([headers, path]))
    }
  }
  for (const agent of [
    'curl/8.14.1',
    'Wget/1.25.0',
    'GDAL/3.6.2',
    'python-requests/2.32.3',
    'Java/21',
    'node',
  ]) {
    assert.match(await challenge({ 'user-agent': agent }), /^Basic realm=/, agent)
  }
})

/** A URL that writes a number into the user's table. */
const writeTo = (base: string, apiKey?: string) => (n: number) =>
  `${base}/api/v2/sql?q=${encodeURIComponent(`insert into written values (${n})`)}${apiKey ? `&api_key=${apiKey}` : ''}`

const writtenBy = async (user: TestUser) =>
  (await user.sql('select n from written order by n')).rows.map(({ n }) => n)

async function openPage(
  t: TestContext,
  httpCredentials?: { username: string; password: string },
): Promise<Page> {
  const context = await (await browser(false)).newContext(httpCredentials ? { httpCredentials } : {})
  t.after(() => context.close())
  return context.newPage()
}

/** A proxy asks for Basic once. From then on the browser sends the token by itself. */
async function rememberToken(t: TestContext, { url, user }: Setup, page: Page): Promise<string> {
  const front = await startFront(t, url)
  front.next({ status: 401, headers: { 'www-authenticate': 'Basic realm="proxy"' } })
  await page.goto(`${front.url}/openapi.json`)
  assert.equal(front.seen.length, 2, 'asked, and answered')
  return `${front.url}/user/${user.username}`
}

/** Opens a page of another site, and waits for the answers to its requests. */
async function visit(t: TestContext, page: Page, target: string, body: string, name: string): Promise<void> {
  const answered: string[] = []
  const note = (url: string) => url.startsWith(target) && answered.push(url)
  page.on('requestfinished', (request) => note(request.url()))
  page.on('requestfailed', (request) => note(request.url()))
  await page.goto(await startSite(t, 'localhost', body)).catch(() => undefined)
  await eventually(() => assert.ok(answered.length > 0, name))
  page.removeAllListeners()
}

async function startSite(t: TestContext, host: string, body: string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><body>${body}</body>`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${host}:${(server.address() as AddressInfo).port}/`
}
