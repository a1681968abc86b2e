import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { setup } from '../support/service/setup.ts'
import { provideConsole } from './support/provide-console.ts'

// Not awaited here: tests of another file in this process could end first and with them the clean-up of all.
before(provideConsole)

test('every path of the console serves its page, which can run and load only files of the console', async (t) => {
  const { url } = await setup(t)
  for (const path of ['', '/', '/sql', '/tables/public/a.b/columns']) {
    const answer = await fetch(`${url}/console${path}`)
    assert.equal(answer.status, 200, path)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(answer.headers.get('cache-control'), 'no-cache')
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin')
    const policy = answer.headers.get('content-security-policy')!
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types default$/)
    assert.ok(!/unsafe|\*|https?:/.test(policy), policy)
    const again = await fetch(`${url}/console${path}`, {
      headers: { 'if-none-match': answer.headers.get('etag')! },
    })
    assert.equal(again.status, 304)
  }
})

test('a file of the console has a hash in its name, is immutable, and is served compressed', async (t) => {
  const { url } = await setup(t)
  const page = await (await fetch(`${url}/console/`)).text()
  const addresses = [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path!)
  assert.equal(addresses.length, 3, page)
  for (const path of addresses) {
    assert.match(path, /-[A-Z0-9]{8}\.(js|css)$/)
    const bytes = await Promise.all(
      [decoders.identity, decoders.gzip, decoders.br].map(async ({ encoding, decode }) => {
        const { headers, body } = await readRaw(`${url}${path}`, encoding)
        assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
        assert.equal(headers['content-encoding'], encoding === 'identity' ? undefined : encoding)
        return decode(body).toString()
      }),
    )
    assert.equal(new Set(bytes).size, 1, path)
  }
  for (const path of ['/console/assets/none.js', '/console/assets/..%2findex.html']) {
    assert.equal((await fetch(`${url}${path}`)).status, 404, path)
  }
})

test('behind a proxy that adds a path the page loads its files under that path', async (t) => {
  const { url } = await setup(t, { config: { publicUrl: 'https://maps.example/cartage/' } })
  const page = await (await fetch(`${url}/console/`)).text()
  assert.match(page, /src="\/cartage\/console\/assets\/main-/)
})

test('the console stays within its size budget', async () => {
  const outputs = JSON.parse(await readFile('dist/console/sizes.json', 'utf8')) as Output[]
  const first = needs(outputs, 'console/main.tsx')
  assert.ok(kilobytes(first) <= 30, `to sign in: ${kilobytes(first)} KB`)
  assert.ok(first.length + 1 <= 4, `requests: ${first.length + 1}`)
  const needed = [
    ...needs(outputs, 'console/sql/page.tsx'),
    ...needs(outputs, 'console/sql/editor/editor.tsx'),
  ]
  const sql = [...new Set(needed)].filter((output) => !first.includes(output))
  assert.ok(kilobytes(sql) <= 200, `to write SQL: ${kilobytes(sql)} KB`)
  for (const { entryPoint } of outputs.filter((output) => /\/page\.tsx$/.test(output.entryPoint ?? ''))) {
    const files = needs(outputs, entryPoint!).filter((output) => !first.includes(output))
    assert.ok(files.length <= 10, `${entryPoint}: ${files.length} files`)
  }
  for (const page of outputs.filter(({ entryPoint }) => /\/(page|editor)\.tsx$/.test(entryPoint ?? '')))
    assert.ok(kilobytes([page]) < 150, `${page.entryPoint}: ${kilobytes([page])} KB`)
  const named = (start: string) => outputs.filter(({ file }) => file.startsWith(start))
  const alone = (some: readonly Output[]) => some.filter((output) => ![...first, ...sql].includes(output))
  for (const view of ['map-view', 'table-map', 'small-map']) {
    const own = needs(outputs, `console/result/map/${view}.tsx`)
    const map = alone([...own, ...named('maplibre-gl-worker'), ...named('world')])
    assert.ok(kilobytes(map) <= 490, `${view}: ${kilobytes(map)} KB`)
  }
  const chart = alone(needs(outputs, 'console/result/chart-view.tsx'))
  assert.ok(kilobytes(chart) <= 20, `a chart: ${kilobytes(chart)} KB`)
  const formatter = named('format-worker')
  assert.ok(kilobytes(formatter) <= 25, `the formatter: ${kilobytes(formatter)} KB`)
  const names = named('places')
  assert.ok(kilobytes(names) <= 70, `the names on a map: ${kilobytes(names)} KB`)
  const others = outputs.filter((output) => !names.includes(output))
  const all = others.reduce((sum, { bytes }) => sum + bytes, 0)
  assert.ok(all <= 3_450_000, `all but the names on a map: ${all} bytes`)
})

type Output = Readonly<{
  file: string
  entryPoint?: string
  stylesheet?: string
  imports: readonly string[]
  bytes: number
  gzipBytes: number
}>

/** The files loaded with an entry point: its own, its styles, and all imports. */
function needs(outputs: readonly Output[], entryPoint: string): Output[] {
  const found = new Set<Output>()
  const add = (output: Output | undefined) => {
    if (!output || found.has(output)) return
    found.add(output)
    for (const file of [output.stylesheet, ...output.imports]) add(outputs.find((each) => each.file === file))
  }
  add(outputs.find((output) => output.entryPoint === entryPoint))
  assert.ok(found.size > 0, entryPoint)
  return [...found]
}

const kilobytes = (outputs: readonly Output[]) =>
  Math.ceil(outputs.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0) / 1024)

const decoders = {
  identity: { encoding: 'identity', decode: (bytes: Buffer) => bytes },
  gzip: { encoding: 'gzip', decode: gunzipSync },
  br: { encoding: 'br', decode: brotliDecompressSync },
}

/** Without decompression, unlike fetch. */
async function readRaw(url: string, encoding: string) {
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    request(url, { headers: { 'accept-encoding': encoding } }, (answer) =>
      buffer(answer).then((body) => resolve({ headers: answer.headers, body }), reject),
    )
      .on('error', reject)
      .end()
  })
}
