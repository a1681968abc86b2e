import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setup } from '../support/service/setup.ts'

test('the examples of docs/guide/client.md run unchanged and print what the page shows', async (t) => {
  const { url, user } = await setup(t, { worker: true })
  const folder = await mkdtemp(join(tmpdir(), 'guide-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const page = await readFile(new URL('../../docs/guide/client.md', import.meta.url), 'utf8')
  const code = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n')
  const source = new URL('../../src/client/client.ts', import.meta.url)
  const runnable = code
    .replaceAll("'cartage/client'", `'${source}'`)
    .replaceAll("'ws'", `'${import.meta.resolve('ws')}'`)
  await writeFile(join(folder, 'guide.mjs'), runnable)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), 'guide.mjs'],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        CARTAGE_URL: url,
        CARTAGE_USER: user.username,
        CARTAGE_API_KEY: user.masterToken,
      },
    },
  )
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
