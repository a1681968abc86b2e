import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setup } from '../support/setup.ts'

test('the address itself answers a browser with a page and a program with a document', async (t) => {
  const { url } = await setup(t)
  const forProgram = await fetch(`${url}/`)
  assert.equal(forProgram.headers.get('vary'), 'Accept')
  const document = (await forProgram.json()) as Record<string, string>
  assert.equal(document.name, 'Cartage')
  for (const address of [document.reference, document.openapi, document.health])
    assert.equal((await fetch(address!)).status, 200, address)
  const forBrowser = await fetch(`${url}/`, {
    headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
  })
  assert.equal(forBrowser.headers.get('content-type'), 'text/html; charset=utf-8')
  const page = await forBrowser.text()
  assert.ok(page.includes(`BASE=${url}/user/NAME`), page)
  for (const [, link] of page.matchAll(/href="([^"]+)"/g))
    assert.equal((await fetch(`${url}${link}`)).status, 200, link)
})

test('the page runs nothing, loads nothing, and takes no markup from the request', async (t) => {
  const { url } = await setup(t)
  const { port } = new URL(url)
  const headers = { accept: 'text/html', host: 'x"><script>alert(1)</script>' }
  const [page, policy] = await new Promise<[string, string]>((resolve, reject) => {
    request({ port, headers }, (answer) =>
      text(answer).then((body) => resolve([body, String(answer.headers['content-security-policy'])]), reject),
    )
      .on('error', reject)
      .end()
  })
  assert.ok(!page.includes('<script'), page)
  const style = /<style>([\s\S]*)<\/style>/.exec(page)![1]!
  const hash = createHash('sha256').update(style).digest('base64')
  assert.match(policy, /^default-src 'none'; style-src 'sha256-/)
  assert.ok(policy.includes(`'sha256-${hash}'`), policy)
})
