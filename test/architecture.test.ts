import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../src', import.meta.url))

/** The layers, from the top. Imports stay within a folder or go down. */
const layers = [
  ['main.ts', 'service'],
  ['http', 'worker', 'cli'],
  [
    'activity',
    'history',
    'sessions',
    'imports',
    'exports',
    'maps',
    'saved-queries',
    'dashboards',
    'schedules',
    'webhooks',
  ],
  ['keys', 'jobs', 'copy', 'query', 'tables', 'tiles'],
  ['statements'],
  ['doctor', 'usage'],
  ['accounts'],
  ['hosts'],
  ['audit'],
  ['auth'],
  ['postgres', 'sql'],
  ['errors.ts', 'secrets.ts', 'remembered.ts', 'metrics'],
  ['log'],
  ['config'],
  ['files', 'waiting', 'convert', 'network'],
  ['client', 'file-import', 'sql-text'],
  ['contract'],
]

test('a file imports from its own folder or from a layer below', async () => {
  const culprits = (await imports()).filter(({ from, to }) => {
    const [a, b] = [partOf(from), partOf(to)]
    return a !== b && !(layerOf(b) > layerOf(a) || (layerOf(a) === 0 && layerOf(b) === 0))
  })
  assert.deepEqual(culprits, [])
})

test('every folder and file of src has a layer', async () => {
  const parts = await readdir(root)
  assert.deepEqual(
    parts.filter((part) => layerOf(part) < 0),
    [],
  )
})

test('docs/architecture.md lists exactly these layers', async () => {
  const page = await readFile(join(root, '../docs/architecture.md'), 'utf8')
  const told: string[][] = []
  for (const [, number, parts] of page.matchAll(/^\| (\d*) ?\| ((?:`[\w.-]+\/?` ?)+)\|/gm)) {
    if (number !== '') told.push([])
    told.at(-1)!.push(...[...parts!.matchAll(/`([\w.-]+)\/?`/g)].map(([, part]) => part!))
  }
  const sorted = (all: readonly (readonly string[])[]) => all.map((layer) => layer.toSorted())
  assert.deepEqual(sorted(told), sorted(layers))
})

test('no file imports itself in a circle, type imports and lazy imports included', async () => {
  const edges = groupByFrom(await importsOfAll())
  for (const part of codeFolders)
    assert.ok(
      [...edges.keys()].some((file) => partOf(file) === part),
      part,
    )
  const finished = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `circle: ${[...path, file].join(' -> ')}`)
    if (finished.has(file)) return
    for (const { to } of edges.get(file) ?? []) visit(to, [...path, file])
    finished.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
})

test('only the command line imports the client, and the client imports only the contract', async () => {
  const all = await imports()
  const outOf = (part: string) => all.filter(({ from, to }) => partOf(from) === part && partOf(to) !== part)
  const isContract = ({ to }: Import) => partOf(to) === 'contract'
  assert.deepEqual(outOf('contract'), [])
  assert.deepEqual(
    [...outOf('client'), ...outOf('file-import'), ...outOf('sql-text')].filter((edge) => !isContract(edge)),
    [],
  )
  const users = all.filter(({ to }) => partOf(to) === 'client' || partOf(to) === 'file-import')
  assert.deepEqual(
    users.filter(({ from }) => !['cli', 'client', 'file-import', 'imports'].includes(partOf(from))),
    [],
  )
  const packages = (await sources()).filter(
    ([file, text]) => partOf(file) === 'contract' && /^(?:import|export)[^'"]*?from '[^.]/m.test(text),
  )
  assert.deepEqual(packages, [])
})

test('the command line for people imports nothing of the service but its client and contract', async () => {
  const edges = groupByFrom(await imports())
  const reached = new Set<string>()
  const visit = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    for (const { to } of edges.get(file) ?? []) visit(to)
  }
  visit('cli/user/entry.ts')
  assert.ok(reached.has('client/client.ts'))
  const known = ['cli', 'client', 'contract', 'file-import', 'sql-text', 'config', 'files']
  assert.deepEqual(
    [...reached].filter((file) => !known.includes(partOf(file))),
    [],
  )
})

test('only http imports Fastify, only postgres imports pg as a value, and only config reads the environment', async () => {
  const culprits: string[] = []
  for (const [file, text] of await sources()) {
    if (!file.startsWith('http/') && /from '(fastify|@fastify\/)/.test(text))
      culprits.push(`${file}: fastify`)
    if (!file.startsWith('postgres/') && /^import (?!type)[^\n]* from 'pg'/m.test(text))
      culprits.push(`${file}: pg`)
    // It never tells a server its password.
    if (file !== 'postgres/wire/scram-client.ts' && /new (pg\.)?Client\(/.test(text))
      culprits.push(`${file}: new Client`)
    if (file !== 'config/config.ts' && text.includes('process.env')) culprits.push(`${file}: process.env`)
  }
  assert.deepEqual(culprits, [])
})

test('no wait and no limit uses the wall clock, which can be set', async () => {
  // These show a time of day or compare clocks; the embedded cluster waits before anything is served.
  const known =
    /^(cli|client|postgres\/cluster)\/|^doctor\/check-hosts\.ts$|^audit\/audit-(refusals|uses)\.ts$|^imports\/spool\.ts$|^activity\/list-activity\.ts$/
  const culprits = (await sources())
    .filter(([file, text]) => !known.test(file) && text.includes('Date.now()'))
    .map(([file]) => file)
  assert.deepEqual(culprits, [])
})

test('only stores name tables and functions of the control database', async () => {
  const names = await controlNames()
  assert.ok(names.includes('jobs') && names.includes('write_jobs'), 'the migrations are read')
  const used = new RegExp(`\\bcartage\\.(${names.join('|')})\\b`)
  const culprits = (await sources())
    .filter(([file, text]) => !file.endsWith('-store.ts') && used.test(withoutComments(text)))
    .map(([file]) => file)
  assert.deepEqual(culprits, [])
})

const withoutComments = (text: string) => text.replace(/^\s*(\/\*|\*|\/\/).*$/gm, '')

async function controlNames(): Promise<string[]> {
  const folder = join(root, '../migrations/control')
  const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')))
  const created = /create (?:or replace )?(?:unlogged )?(?:table|view|sequence|function) cartage\.(\w+)/g
  return texts.flatMap((text) => [...text.matchAll(created)].map(([, name]) => name!))
}

test('no folder of src, console or test has too many files', async () => {
  const counts = new Map<string, number>()
  for (const part of ['src', 'console', 'test']) {
    for (const file of await readdir(join(root, '..', part), { recursive: true, withFileTypes: true })) {
      const folder = relative(join(root, '..'), file.parentPath)
      if (file.isFile()) counts.set(folder, (counts.get(folder) ?? 0) + 1)
    }
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 20),
    [],
  )
})

test('two types of src have two names', async () => {
  const files = new Map<string, string[]>()
  for (const [file, text] of await sources()) {
    // What packages declare has the names that they give it.
    if (file.endsWith('.d.ts')) continue
    for (const [, name] of text.matchAll(typeDeclaration)) {
      // Several files add members to the same interfaces of Fastify.
      if (!name!.startsWith('Fastify')) files.set(name!, [...(files.get(name!) ?? []), file])
    }
  }
  assert.ok(files.size > 1_000, `${files.size} types are found`)
  assert.deepEqual(
    [...files].filter(([, declaring]) => declaring.length > 1),
    [],
  )
})

const typeDeclaration =
  /^ *(?:export )?(?:abstract )?(?:type|interface|class) (\w+)(?:<.*>)?(?: =| \{| extends | implements )/gm

/** Files of at most 12 lines, and why they are not part of a file that uses them. */
const smallFiles: Readonly<Record<string, string>> = {
  'client/client.ts': 'what the package exports in Node',
  'client/browser-client.ts': 'what the package exports in browsers',
  'client/http/random-id.ts': 'leaf of the client and of all pages of the console',
  'contract/text/join-bytes.ts': 'leaf of the client, the command line and file-import',
  'contract/text/json-object.ts': 'leaf of contract, dashboards, http, maps and saved-queries',
  'http/copy/document.ts': 'leaf of copies and uploads, named like the documents of every room',
  'http/negotiator.d.ts': 'the types of a package',
  'imports/programs/fail.mjs': 'leaf of all programs in the sandbox',
  'postgres/cluster/cluster-error.ts': 'leaf of the cluster and the command line of the operator',
  'remembered.ts': 'leaf of auth, hosts, http, postgres, query, statements and usage',
  'waiting/clean-in-steps.ts': 'leaf of audit, history, usage, webhooks and worker',
}

test('a file of at most 12 lines is a leaf that several rooms share', async () => {
  const small = (await sources(root, /\.(tsx?|[cm]js)$/)).filter(([, text]) => text.split('\n').length <= 13)
  assert.deepEqual(small.map(([file]) => file).sort(), Object.keys(smallFiles).sort())
})

test('a comment of documentation stands directly above what it describes', async () => {
  const culprits: string[] = []
  for (const part of ['src', 'console', 'chaos', 'test']) {
    for (const [file, text] of await sources(join(root, '..', part)))
      if (/\*\/\n *\/\*\*/.test(text)) culprits.push(`${part}/${file}`)
  }
  assert.deepEqual(culprits, [])
})

test('a function of src, console, chaos or test has at most 60 lines', async () => {
  let count = 0
  const long: string[] = []
  for (const part of ['src', 'console', 'chaos', 'test']) {
    for (const [file, text] of await sources(join(root, '..', part))) {
      for (const { line, length } of functionsIn(text)) {
        count++
        if (length > 60) long.push(`${part}/${file}:${line} has ${length} lines`)
      }
    }
  }
  assert.ok(count > 5_000, `${count} functions are found`)
  assert.deepEqual(long, [])
})

test('a feature uses a tenant database as a caller only through statements', async () => {
  const rooms = /^(keys|jobs|copy|query|tables|tiles|sessions)\//
  // It closes the connections of a role.
  const known = ['keys/end-sessions.ts']
  const culprits = (await sources())
    .filter(([file]) => rooms.test(file) && !known.includes(file))
    .filter(([, text]) =>
      /\b(databases|pools)\.(query|copy|job|session)\b|\.(acquire|take)\(target/.test(text),
    )
    .map(([file]) => file)
  assert.deepEqual(culprits, [])
})

test('the number of an advisory lock is in one file only', async () => {
  const culprits = (await sources())
    .filter(([, text]) => /\b72380\d\d\b/.test(text))
    .map(([file]) => file)
    .filter((file) => file !== 'postgres/advisory-locks.ts')
  assert.deepEqual(culprits, [])
})

type Import = Readonly<{ from: string; to: string }>

const codeFolders = ['src', 'console', 'chaos', 'bench', 'scripts', 'test']

/** Imports in all TypeScript and JavaScript, also of types, lazy imports and workers. */
async function importsOfAll(): Promise<Import[]> {
  const found: Import[] = []
  for (const part of codeFolders) {
    for (const [file, text] of await sources(join(root, '..', part), /\.(tsx?|mjs)$/)) {
      const from = join(part, file)
      const paths = [
        ...text.matchAll(/^(?:import|export)[^'"=(]*'(?:worker:)?(\.[^']+)'/gm),
        ...text.matchAll(/\bimport\('(\.[^']+)'\)/g),
      ].map(([, path]) => path!)
      found.push(...paths.map((path) => ({ from, to: join(dirname(from), path) })))
    }
  }
  return found
}

async function imports(): Promise<Import[]> {
  const found: Import[] = []
  for (const [from, text] of await sources()) {
    for (const [, path] of text.matchAll(/^(?:import|export)[^'"]*?from '(\.[^']+)'/gm)) {
      found.push({ from, to: relative(root, resolve(root, dirname(from), path!)) })
    }
  }
  return found
}

async function sources(folder = root, named = /\.tsx?$/): Promise<[string, string][]> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => named.test(file))
  return Promise.all(
    files.map(async (file) => [file, await readFile(join(folder, file), 'utf8')] as [string, string]),
  )
}

function groupByFrom(all: readonly Import[]): Map<string, Import[]> {
  const groups = new Map<string, Import[]>()
  for (const edge of all) groups.set(edge.from, [...(groups.get(edge.from) ?? []), edge])
  return groups
}

const partOf = (file: string) => file.split('/')[0]!
const layerOf = (part: string) => layers.findIndex((layer) => layer.includes(part))

const functionStart =
  /^ *(?:export )?(?:default )?(?:async )?function\b|=>(?: [{(])?$|^ +(?:async |get |static )*#?\w+(?:<.*>)?\(.*\{$/

/** Relies on the formatter's indentation: a function ends at the next line that is indented no deeper. */
function functionsIn(text: string): { line: number; length: number }[] {
  const lines = text.split('\n')
  const depthOf = (line: string) => line.search(/\S/)
  return lines.flatMap((start, at) => {
    if (!functionStart.test(start) || /^ *(?:if|for|while|switch|catch)\b/.test(start)) return []
    // Lines such as `}: Props) {` end the parameters, not the function.
    const isEnd = (line: string) => line !== '' && depthOf(line) <= depthOf(start) && !/[{([]$/.test(line)
    const length = lines.slice(at + 1).findIndex(isEnd) + 2
    return [{ line: at + 1, length }]
  })
}
