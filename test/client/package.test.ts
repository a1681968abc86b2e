import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { setup } from '../support/service/setup.ts'

const run = promisify(execFile)

let packed: string
let tarball: string
before(async () => {
  packed = await mkdtemp(join(tmpdir(), 'cartage-client-'))
  tarball = await pack(packed)
})
after(() => rm(packed, { recursive: true, force: true }))

test('cartage-client installs from its tarball without a network and without dependencies', async (t) => {
  const folder = await installed(t)
  const packages = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))
  assert.deepEqual(packages, ['cartage-client'])
  const { stdout } = await npm(folder, 'ls', '--all', '--parseable')
  assert.deepEqual(stdout.trim().split('\n').slice(1), [join(folder, 'node_modules/cartage-client')])
})

for (const { name, type } of [
  { name: 'an ESM project', type: 'module' },
  { name: 'a CommonJS project', type: 'commonjs' },
]) {
  test(`${name} in TypeScript compiles with cartage-client and runs`, async (t) => {
    const { url, user } = await setup(t)
    const folder = await installed(t)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type }))
    await mkdir(join(folder, 'src'))
    await writeFile(join(folder, 'src/use.ts'), use)
    await writeFile(join(folder, 'src/only-types.ts'), onlyTypes)
    for (const module of ['node16', 'nodenext']) {
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(configFor(module)))
      assert.equal(await complaintsIn(folder), '', module)
      const { stdout } = await run(process.execPath, ['out/use.js'], {
        cwd: folder,
        env: { CARTAGE_URL: url, CARTAGE_USER: user.username, CARTAGE_API_KEY: user.masterToken },
      })
      assert.deepEqual(stdout.trim().split('\n'), [
        '1.50 9007199254740993',
        '42P01 database',
        'transaction 1',
        'done',
      ])
    }
  })
}

/** Neither the types of Node nor those of another package are installed. */
const configFor = (module: string) => ({
  compilerOptions: {
    module,
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
    strict: true,
    skipLibCheck: false,
    rootDir: 'src',
    outDir: 'out',
  },
  include: ['src'],
})

const use = `
import { CartageError, createAdminClient, createClient, ExactNumber, type JobDocument } from 'cartage-client'

declare const process: { env: Record<string, string> }
const { CARTAGE_URL, CARTAGE_USER, CARTAGE_API_KEY } = process.env
const client = createClient({ baseUrl: CARTAGE_URL!, username: CARTAGE_USER!, token: CARTAGE_API_KEY! })
export const admin = createAdminClient({ baseUrl: CARTAGE_URL!, token: 'none' })
export const job = (): Promise<JobDocument> => client.jobs.create('select 1')
// @ts-expect-error: a job is no number
export const wrong = (): Promise<number> => client.jobs.create('select 1')

async function main(): Promise<void> {
  type Row = { price: ExactNumber; id: bigint }
  const { rows } = await client.sql<Row>\`select \${new ExactNumber('1.50')}::numeric as price, \${9007199254740993n}::bigint as id\`
  console.log(\`\${rows[0]!.price} \${rows[0]!.id}\`)
  await client.sql('select * from nothing').catch((error: unknown) => {
    if (!(error instanceof CartageError)) throw error
    console.log(error.sqlstate, error.code)
  })
  const found = await client.transaction(async (tx) => (await tx.sql('select 1 as n')).rows[0]!.n)
  console.log('transaction', String(found))
  client.close()
  console.log('done')
}

void main()
`

const onlyTypes = `
import type { ErrorCode, Grant, JobStatus, KeyDocument, TablePermission } from 'cartage-client'

export const statusOf = (status: JobStatus): string => status
export const grantsOf = ({ grants }: KeyDocument): readonly Grant[] => grants
export const reading: TablePermission = 'select'
export const code: ErrorCode = 'rate-limited'
// @ts-expect-error: there is no such code
export const wrong: ErrorCode = 'rate-limit'
`

async function complaintsIn(folder: string): Promise<string> {
  const compiler = resolve('node_modules/.bin/tsc')
  return run(compiler, ['--project', folder, '--pretty', 'false']).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

/** An empty folder with the package installed. */
async function installed(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-client-user-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'package.json'), '{}')
  await npm(folder, 'install', '--offline', '--no-audit', '--no-fund', tarball)
  return folder
}

async function pack(folder: string): Promise<string> {
  const script = (await import('../../scripts/build-client.mjs' as string)) as {
    buildClient: (folder: string) => Promise<void>
  }
  await script.buildClient(join(folder, 'package'))
  const { stdout } = await npm(folder, 'pack', '--json', './package')
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  return join(folder, filename)
}

const npm = (folder: string, ...args: string[]) =>
  run('npm', args, { cwd: folder, env: { ...process.env, npm_config_loglevel: 'error' }, timeout: 120_000 })
