import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve('console')

/**
 * The layers, from top to bottom. Every other folder is a page; pages do not import each other. Imports go down only.
 */
const layers = [
  'main.tsx',
  'core.ts',
  'shared.ts',
  'frame',
  'a page',
  'result',
  'api',
  'geo',
  'chart',
  'parts',
]

test('a file of the console imports from its own folder or from a layer below', async () => {
  const culprits = (await imports()).filter(({ from, to, isLazy }) => {
    if (to.startsWith('..')) return false
    // Loaded on demand: the pages, by the frame, and large parts of a folder.
    if (isLazy) return !(from.startsWith('frame/') && to.endsWith('/page.tsx')) && partOf(from) !== partOf(to)
    const [a, b] = [partOf(from), partOf(to)]
    return a !== b && layerOf(a) >= layerOf(b)
  })
  assert.deepEqual(culprits, [])
})

test('the console imports only the client, the contract, the file import and the lexer, and the service imports nothing of the console', async () => {
  const outside = new Set((await imports()).map(({ to }) => to).filter((to) => to.startsWith('..')))
  // Iterating a set also visits what is added during the loop.
  for (const path of outside) {
    assert.match(path, /^\.\.\/src\/(client|contract|file-import|sql-text)\/[\w/-]+\.ts$/)
    const text = await readFile(join(root, path), 'utf8')
    assert.ok(!/from 'node:/.test(text), path)
    for (const [, from] of text.matchAll(/^(?:import|export) (?!type)[^']*from '(\.[^']+)'/gm))
      outside.add(join(dirname(path), from!))
  }
  for (const path of await readdir('src', { recursive: true })) {
    if (!path.endsWith('.ts')) continue
    const text = await readFile(join('src', path), 'utf8')
    for (const [, from] of text.matchAll(/from '(\.[^']+)'/g)) {
      assert.ok(!resolve('src', dirname(path), from!).startsWith(`${root}/`), path)
    }
  }
})

test('no text becomes markup or code in the console', async () => {
  const forbidden =
    /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|\beval\(|new Function|style="/
  for (const [file, text] of await sources()) assert.ok(!forbidden.test(text), file)
})

test('a folder of the console or of its tests has at most 20 files', async () => {
  const counts = new Map<string, number>()
  for (const folder of ['console', 'test/console']) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1)
    }
  }
  assert.ok(counts.size > 20, 'the folders are found')
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 20),
    [],
  )
})

test('no two types that the console exports have the same name', async () => {
  const files = new Map<string, string[]>()
  for (const [file, text] of await sources()) {
    for (const [, name] of text.matchAll(/^export (?:type|interface|class) (\w+)/gm))
      files.set(name!, [...(files.get(name!) ?? []), file])
  }
  assert.ok(files.size > 50, 'the types are found')
  assert.deepEqual(
    [...files].filter(([, exporting]) => exporting.length > 1),
    [],
  )
})

type Import = Readonly<{ from: string; to: string; isLazy: boolean }>

async function imports(): Promise<Import[]> {
  const found: Import[] = []
  for (const [from, text] of await sources()) {
    const add = (path: string, isLazy: boolean) =>
      found.push({ from, to: relative(root, resolve(root, dirname(from), path)), isLazy })
    for (const [, path] of text.matchAll(/^(?:import|export)[^'"=(]*'(?:worker:)?(\.[^']+)'/gm))
      add(path!, false)
    for (const [, path] of text.matchAll(/\bimport\('(\.[^']+)'\)/g)) add(path!, true)
  }
  return found
}

async function sources(): Promise<[string, string][]> {
  const files = (await readdir(root, { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  return Promise.all(
    files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as [string, string]),
  )
}

const partOf = (file: string) => file.split('/')[0]!

function layerOf(part: string): number {
  const layer = layers.indexOf(part)
  return layer < 0 ? layers.indexOf('a page') : layer
}
