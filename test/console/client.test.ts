import assert from 'node:assert/strict'
import { test } from 'node:test'
import type * as Cartage from '../../src/client/browser-client.ts'
import { setup } from '../support/service/setup.ts'
import { browser } from './support/browser.ts'
import { bundleClient } from './support/bundle-client.ts'

test('the client works on a page of another origin: rows, uploads with progress, errors and aborts', async (t) => {
  const { url, user } = await setup(t)
  const context = await (await browser(false)).newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.addScriptTag({ content: await bundleClient() })
  const seen = await page.evaluate(useClient, {
    baseUrl: url,
    username: user.username,
    token: user.masterToken,
  })
  assert.deepEqual(seen, {
    sum: 50_005_000,
    total: 10_000,
    long: '9007199254740993',
    loaded: 2,
    progress: { bytes: 4, total: 4 },
    copied: '1\n2\n',
    error: [400, '42703', 8, true],
    aborted: 'AbortError',
  })
})

/** Runs in the page. */
async function useClient(options: Cartage.ClientOptions) {
  const { createClient, CartageError } = (globalThis as unknown as { Cartage: typeof Cartage }).Cartage
  const client = createClient(options)
  const rows = client.rows<{ n: number }>`select n from generate_series(1, ${10_000}) n`
  let sum = 0
  for await (const { n } of rows) sum += n
  const exact = await client.sql`select ${9007199254740993n}::bigint as long`
  await client.sql('create table t (n int)')
  let progress: Cartage.Progress | undefined
  const loaded = await client.copyFrom('copy t from stdin', new Blob(['1\n2\n']), {
    onProgress: (told) => {
      progress = told
    },
  })
  let copied = ''
  for await (const chunk of await client.copyTo('copy t to stdout')) copied += new TextDecoder().decode(chunk)
  const error = await client.sql('select nothing').catch((thrown: unknown) => thrown)
  const stop = new AbortController()
  const asleep = client.sql('select pg_sleep(20)', { signal: stop.signal }).catch((thrown: unknown) => thrown)
  stop.abort()
  const refused = error as Cartage.CartageError
  return {
    sum,
    total: rows.summary?.total_rows,
    long: String(exact.rows[0]?.long),
    loaded: loaded.total_rows,
    progress,
    copied,
    error: [refused.status, refused.sqlstate, refused.position, refused instanceof CartageError],
    aborted: ((await asleep) as Error).name,
  }
}
