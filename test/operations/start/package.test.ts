import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { newInstallation } from '../../support/service/installation.ts'

const run = promisify(execFile)

test('the package, installed from its tarball in an empty folder, has a typed client and a cartage that serves', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-package-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { filename, files } = await pack(folder)
  const top = new Set(files.map(({ path }) => path.split('/')[0]))
  assert.deepEqual([...top].sort(), [
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bin', 'dist', 'docs', 'migrations'],
    'package.json',
  ])
  const missing = await install(folder, filename)
  if (missing) return t.skip(missing)

  await assertClient(folder)
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  const cartage = join(folder, 'node_modules/.bin/cartage')
  assert.equal((await run(cartage, ['--version'], { cwd: folder })).stdout, `${version}\n`)
  assert.equal(
    (await run('npx', ['--no', '--', 'cartage', '--version'], { cwd: folder })).stdout,
    `${version}\n`,
  )
  await assertServes(t, folder, cartage, version)
})

type Packed = Readonly<{ filename: string; files: readonly { path: string }[] }>

async function pack(folder: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], quietly)
  return (JSON.parse(stdout) as [Packed])[0]
}

const quietly = {
  timeout: 300_000,
  env: {
    ...process.env,
    NODE_EXTRA_CA_CERTS: process.env.CARTAGE_TEST_CA_CERTS,
    npm_config_loglevel: 'error',
  },
}

/** Returns why it could not be tested: the dependencies come from npm's cache or the registry. */
async function install(folder: string, filename: string): Promise<string | undefined> {
  await writeFile(join(folder, 'package.json'), '{}')
  try {
    const options = ['--prefer-offline', '--no-audit', '--no-fund']
    await run('npm', ['install', ...options, `./${filename}`], { ...quietly, cwd: folder })
    return undefined
  } catch (error) {
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.test(String(error))) throw error
    return 'NOT RUN: neither the cache of npm nor the registry has the dependencies'
  }
}

async function assertClient(folder: string): Promise<void> {
  await writeFile(
    join(folder, 'use.mjs'),
    `import { CartageError, createAdminClient, createClient, statement } from 'cartage/client'
     console.log(createClient.length, createAdminClient.length, CartageError.name, statement\`$\{1}\`.text)
     console.log(import.meta.resolve('cartage/client').split('/').at(-1))`,
  )
  const uses = (...conditions: string[]) =>
    run(process.execPath, [...conditions, 'use.mjs'], { cwd: folder }).then(({ stdout }) => stdout)
  assert.equal(await uses(), '1 1 CartageError $1\nclient.js\n')
  assert.equal(await uses('--conditions=browser'), '1 1 CartageError $1\nbrowser-client.js\n')
  await writeFile(join(folder, 'use.ts'), typedUse)
  const types = resolve('node_modules/@types')
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--typeRoots', types, '--types', 'node']
  const { stdout } = await run(resolve('node_modules/.bin/tsc'), [...options, 'use.ts'], {
    cwd: folder,
  }).catch((error: { stdout: string }) => error)
  assert.equal(stdout, '')
}

const typedUse = `
import { createClient } from 'cartage/client'
import { CartageError, type JobDocument, type KeyDocument } from 'cartage/client'
const client = createClient({ baseUrl: 'http://x', username: 'a', token: 'b' })
export const job: Promise<JobDocument> = client.jobs.create('select 1')
export const key: Promise<KeyDocument> = client.keys.read('k')
export const names = client.sql<{ name: string }>\`select name from t where id = \${1}\`.then(({ rows }) => rows[0]?.name)
export const place = (error: unknown) => (error instanceof CartageError ? error.position : undefined)
// @ts-expect-error: a job is no number
export const wrong: Promise<number> = client.jobs.create('select 1')
`

async function assertServes(t: TestContext, folder: string, cartage: string, version: string): Promise<void> {
  const { config, keys } = await newInstallation(t)
  const child = spawn(cartage, ['serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      CARTAGE_PORT: '0',
      CARTAGE_DATABASE_URL: keys.adminUrl,
      CARTAGE_SECRET: keys.secret,
      CARTAGE_NAMESPACE: config.namespace,
      CARTAGE_CONNECTIONS_PER_HOST: '6',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const url = await addressOf(child)
  const { info } = (await (await fetch(`${url}/openapi.json`)).json()) as { info: { version: string } }
  assert.equal(info.version, version)
  assert.equal((await fetch(`${url}/health/ready`)).status, 200)
  await assertPages(url)
  assert.match(await (await fetch(`${url}/cli/cartage`)).text(), /^#!\/usr\/bin\/env node\n/)
  child.kill('SIGTERM')
  assert.deepEqual(await gone, [0, null])
}

/** A bundle can lack parts of its sources. Loads everything that needs no key, with all it loads. */
async function assertPages(url: string): Promise<void> {
  const seen = new Set<string>()
  const visit = async (page: URL): Promise<void> => {
    if (seen.has(page.href) || page.origin !== url) return
    seen.add(page.href)
    const reply = await fetch(page)
    const text = await reply.text()
    assert.equal(reply.status, 200, `${page}: ${text.slice(0, 300)}`)
    if (!reply.headers.get('content-type')?.startsWith('text/html')) return
    for (const [, file] of text.matchAll(/(?:src|href)="([^"]+)"/g)) await visit(new URL(file!, reply.url))
  }
  for (const path of ['/', '/docs', '/docs/json', '/openapi.json', '/console/', '/metrics', '/health/live'])
    await visit(new URL(path, url))
  assert.ok(seen.size > 10, [...seen].join(' '))
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: stdout! })) {
    const [, url] = /Cartage listens on (http[^\s"]+)/.exec(line) ?? []
    if (url) return url
  }
  throw new Error('it ended without listening')
}
