import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { measurements, readResults, subjects, summary } from '../bench/frame/report.ts'
import { variables } from '../src/config/known-variables.ts'

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8')

test('docs/configuration.md has exactly the variables that exist, with their defaults', async () => {
  const rows = tableRows(await read('docs/configuration.md'))
  const documented = rows
    .filter(([name]) => name!.startsWith('`CARTAGE_'))
    .map(([name, fallback]) => `${name} ${fallback}`)
  const known = Object.values(variables).map(
    ({ name, fallback }) => `\`${name}\` ${fallback ? `\`${fallback}\`` : ''}`,
  )
  assert.deepEqual(documented.map((row) => row.trim()).sort(), known.map((row) => row.trim()).sort())
})

test('docs/errors.md has exactly the error codes that exist, with their kinds', async () => {
  const raised = [...(await read('src/errors.ts')).matchAll(/raise\(\s*'([a-z-]+)',\s*(?:'([a-z-]+)'|kind)/g)]
  const known = raised.map(([, code, kind]) => `${code} ${kind ?? 'by the database'}`)
  const documented = tableRows(await read('docs/errors.md'))
    .filter(([code]) => code!.startsWith('`'))
    .map(([code, kind]) => `${code!.replaceAll('`', '')} ${kind}`)
  assert.deepEqual(documented.sort(), known.sort())
})

test('every link between pages leads to a page and a heading that exist', async () => {
  const folder = new URL('../', import.meta.url)
  const inDocs = (await readdir(new URL('docs', folder), { recursive: true })).map((path) => `docs/${path}`)
  const inRoot = await readdir(folder)
  const pages = [...inRoot, ...inDocs].filter((path) => path.endsWith('.md'))
  assert.ok(pages.includes('docs/guide/jobs.md'))
  const dead: string[] = []
  for (const page of pages) {
    for (const [link, path, heading] of (await read(page)).matchAll(linkPattern)) {
      const target = path ? new URL(path, new URL(page, folder)) : new URL(page, folder)
      const isThere = existsSync(target) && (!heading || (await anchorsOf(target)).includes(heading))
      if (!isThere) dead.push(`${page}: ${link}`)
    }
  }
  assert.deepEqual(dead, [])
})

const linkPattern = /\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g

/** As GitHub derives them from a page's headings. */
async function anchorsOf(page: URL): Promise<readonly string[]> {
  const headings = (await readFile(page, 'utf8')).matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, text]) =>
    text!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

test('every page of docs is in its index', async () => {
  const index = await read('docs/README.md')
  const pages = (await readdir(new URL('../docs', import.meta.url), { recursive: true })).filter(
    (path) => path.endsWith('.md') && path !== 'README.md',
  )
  assert.deepEqual(
    pages.filter((page) => !index.includes(`](${page})`)),
    [],
  )
})

test('docs/internals/dependencies.md has exactly the packages of package.json', async () => {
  const { dependencies, devDependencies } = JSON.parse(await read('package.json'))
  const [packages] = (await read('docs/internals/dependencies.md')).split('\n## ')
  const named = tableRows(packages!)
    .slice(1)
    .flatMap(([names]) => names!.split(', '))
  assert.deepEqual(named.sort(), Object.keys({ ...dependencies, ...devDependencies }).sort())
})

test('every file that the pages on internals name exists', async () => {
  const missing: string[] = []
  const internals = await readdir(new URL('../docs/internals', import.meta.url))
  const pages = internals.filter((path) => path.endsWith('.md')).map((path) => `docs/internals/${path}`)
  for (const page of ['docs/architecture.md', ...pages]) {
    for (const [, path] of (await read(page)).matchAll(/`((?:\w[\w-]*\/)+[\w-]+\.ts)`/g)) {
      const places = ['src', '.'].map((folder) => new URL(`../${folder}/${path}`, import.meta.url))
      if (!places.some((place) => existsSync(place))) missing.push(`${page}: ${path}`)
    }
  }
  assert.deepEqual(missing, [])
})

test('the pages of figures say what was measured', async () => {
  const results = await readResults()
  assert.deepEqual(
    results.filter(({ name }) => !subjects.has(name.split('-')[0]!)),
    [],
  )
  assert.ok((await read('docs/performance.md')).includes(summary(results)))
  assert.ok((await read('docs/internals/measurements.md')).includes(measurements(results)))
})

function tableRows(markdown: string): string[][] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}
