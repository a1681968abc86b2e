import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'

/**
 * test/operations/released/VERSION: the files of a release, for the tests of later ones. Written at the release, never
 * changed.
 */
const records = join(import.meta.dirname, '../../operations/released')
const root = join(import.meta.dirname, '../../..')

export type MigrationFolder = 'control' | 'tenant' | 'host'
export type ReleasedMigration = Readonly<{
  version: string
  folder: MigrationFolder
  name: string
  checksum: string
}>

/** Every migration of every release. */
export async function releasedMigrations(): Promise<readonly ReleasedMigration[]> {
  const versions = await readdir(records)
  return (await Promise.all(versions.map(migrationsOf))).flat()
}

/** The file has the format of sha256sum. */
async function migrationsOf(version: string): Promise<readonly ReleasedMigration[]> {
  const lines = (await readFile(join(records, version, 'migrations.sha256'), 'utf8')).trim().split('\n')
  return lines.map((line) => {
    const [, checksum, folder, name] = /^([0-9a-f]{64}) {2}(\w+)\/([\w-]+)\.sql$/.exec(line)!
    return { version, folder: folder as MigrationFolder, name: name!, checksum: checksum! }
  })
}

export const migrationPath = (folder: string, name: string) => join(root, 'migrations', folder, `${name}.sql`)

/**
 * Makes a data directory as 0.1.0 left it, with users, keys, jobs and tables. Only the embedded cluster is started by
 * the current code; its contents come from the migrations and the SQL of the release.
 */
export async function makeDataDirOf(version: string, dataDir: string): Promise<void> {
  const cluster = await startEmbeddedCluster({
    dataDir,
    log: createLog('silent'),
    settings: { fsync: 'off' },
  })
  try {
    const run = (database: string, ...texts: readonly string[]) => runSql(cluster.url, database, texts)
    const record = (name: string) => readFile(join(records, version, name), 'utf8')
    await run('postgres', await record('roles.sql'))
    for (const name of ['cartage', 'cartage_template']) {
      await run('postgres', `create database ${name} template template0`)
      await run('postgres', `revoke all on database ${name} from public`)
    }
    await run('cartage', ...(await migrationTexts(version, 'control')), await record('control.sql'))
    const postgis = 'create schema postgis; create extension postgis schema postgis'
    await run('cartage_template', postgis, ...(await migrationTexts(version, 'tenant')))
    for (const name of ['cartage_u1', 'cartage_o1']) {
      await run('postgres', `create database ${name} template cartage_template`)
      await run('postgres', `revoke all on database ${name} from public`)
      await run(name, await record(`${name}.sql`))
    }
  } finally {
    await cluster.stop()
  }
}

/** As the release applied them: each is recorded in the table of migrations. */
async function migrationTexts(version: string, folder: MigrationFolder): Promise<readonly string[]> {
  const migrations = (await migrationsOf(version)).filter((migration) => migration.folder === folder)
  const applied = migrations.map(
    async ({ name, checksum }) =>
      `${await readFile(migrationPath(folder, name), 'utf8')};
       insert into cartage.migrations (name, checksum) values ('${name}', '${checksum}')`,
  )
  const table = `create schema cartage; create table cartage.migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`
  return [table, ...(await Promise.all(applied))]
}

async function runSql(url: string, database: string, texts: readonly string[]): Promise<void> {
  const address = new URL(url)
  address.pathname = `/${database}`
  const client = new pg.Client({ connectionString: address.href, options: '-c search_path=pg_catalog' })
  await client.connect()
  try {
    for (const text of texts) await client.query(text)
  } finally {
    await client.end()
  }
}

export const laterName = '9999-later'

/** A copy of this package with one more migration in each folder. Returns what Node runs as its `cartage`. */
export async function makeLaterVersion(
  folder: string,
  later: Readonly<Record<MigrationFolder, string>>,
): Promise<readonly string[]> {
  await mkdir(join(folder, 'test/support/service'), { recursive: true, mode: 0o755 })
  for (const name of [
    'package.json',
    'tsconfig.json',
    'migrations',
    'src',
    'test/support/service/cartage.ts',
  ])
    await cp(join(root, name), join(folder, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [kind, sql] of Object.entries(later))
    await writeFile(join(folder, 'migrations', kind, `${laterName}.sql`), sql)
  return ['--import', import.meta.resolve('tsx'), join(folder, 'test/support/service/cartage.ts')]
}
