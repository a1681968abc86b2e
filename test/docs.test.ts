import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { variables } from '../src/config.ts'

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8')

test('docs/configuration.md has every variable with its default, and no other', async () => {
  const rows = tableRows(await read('docs/configuration.md'))
  const documented = rows
    .filter(([name]) => name!.startsWith('`CARTAGE_'))
    .map(([name, fallback]) => `${name} ${fallback}`)
  const known = Object.values(variables).map(
    ({ name, fallback }) => `\`${name}\` ${fallback ? `\`${fallback}\`` : ''}`,
  )
  assert.deepEqual(documented.map((row) => row.trim()).sort(), known.map((row) => row.trim()).sort())
})

test('docs/errors.md has every error code with its kind, and no other', async () => {
  const raised = [...(await read('src/errors.ts')).matchAll(/raise\(\s*'([a-z-]+)',\s*(?:'([a-z-]+)'|kind)/g)]
  const known = raised.map(([, code, kind]) => `${code} ${kind ?? 'by the database'}`)
  const documented = tableRows(await read('docs/errors.md'))
    .filter(([code]) => code!.startsWith('`'))
    .map(([code, kind]) => `${code!.replaceAll('`', '')} ${kind}`)
  assert.deepEqual(documented.sort(), known.sort())
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
