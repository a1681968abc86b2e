import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/service/setup.ts'

test('the base address leads a browser to the console and answers a program with a document', async (t) => {
  const { url } = await setup(t)
  const forProgram = await fetch(`${url}/`)
  assert.equal(forProgram.headers.get('vary'), 'Accept')
  const document = (await forProgram.json()) as Record<string, string>
  assert.equal(document.name, 'Cartage')
  assert.equal(document.console, `${url}/console/`)
  for (const address of [document.reference, document.openapi, document.health])
    assert.equal((await fetch(address!)).status, 200, address)
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const forBrowser = await fetch(`${url}/`, { headers: { accept }, redirect: 'manual' })
  assert.equal(forBrowser.status, 302)
  assert.equal(new URL(forBrowser.headers.get('location')!, `${url}/`).href, `${url}/console/`)
})
