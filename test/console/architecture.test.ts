import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve('console')

/** What stands on which floor; every other folder is a page, and pages do not know each other. Imports go down. */
const floors = ['main.tsx', 'core.ts', 'frame', 'a page', 'result', 'api', 'geo', 'parts']

test('a file of the console imports from its own folder or from a floor below', async () => {
  const culprits = (await imports()).filter(({ from, to, isLazy }) => {
    if (to.startsWith('..')) return false
    // What comes with a file of its own: the pages, which the frame opens, and large parts of a folder.
    if (isLazy) return !(from.startsWith('frame/') && to.endsWith('/page.tsx')) && partOf(from) !== partOf(to)
    const [a, b] = [partOf(from), partOf(to)]
    return a !== b && floorOf(a) >= floorOf(b)
  })
  assert.deepEqual(culprits, [])
})

test('the console takes from the service only its client, contract and file import, which run in a browser, and the service nothing of it', async () => {
  const outside = new Set((await imports()).map(({ to }) => to).filter((to) => to.startsWith('..')))
  // A set also visits what is added while it is walked.
  for (const path of outside) {
    assert.match(path, /^\.\.\/src\/(client|contract|file-import)\/[\w/-]+\.ts$/)
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

function floorOf(part: string): number {
  const floor = floors.indexOf(part)
  return floor < 0 ? floors.indexOf('a page') : floor
}
