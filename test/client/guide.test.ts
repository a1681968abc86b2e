import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runJavascript } from '../support/clients/run-javascript.ts'
import { setup } from '../support/service/setup.ts'

test('the examples of docs/guide/client.md run unchanged and print what the page shows', async (t) => {
  const { url, user } = await setup(t, { worker: true })
  const folder = await mkdtemp(join(tmpdir(), 'guide-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const page = await readFile(new URL('../../docs/guide/client.md', import.meta.url), 'utf8')
  const code = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n')
  const stdout = await runJavascript(code, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      CARTAGE_URL: url,
      CARTAGE_USER: user.username,
      CARTAGE_API_KEY: user.masterToken,
    },
  })
  const printed = stdout.split('\n')
  const expected = [...code.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, text]) => text!)
  assert.ok(expected.length > 8)
  let at = 0
  for (const text of expected) {
    const found = printed.findIndex((line, place) => place >= at && isLike(line, text))
    assert.ok(found >= 0, `${text}\n\n${stdout}`)
    at = found + 1
  }
})

/** `...` matches anything. */
function isLike(line: string, text: string): boolean {
  const [start = '', end] = text.split(' ... ')
  return end === undefined ? line === start : line.startsWith(start) && line.endsWith(end)
}
