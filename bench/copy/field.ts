import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Frame, makeFolder } from '../frame/frame.ts'

/** Rows of a kind, as a query for a number of them. */
export type Kind = Readonly<{ columns: string; rowBytes: number; rows: (count: number) => string }>

export const kinds = {
  narrow: {
    columns: 'id int, n int, t text',
    rowBytes: 24,
    rows: (count) =>
      `select i, i * 7 % 1000003, substr(md5(i::text), 1, 8) from generate_series(1, ${count}) i`,
  },
  wide: {
    columns: 'id int, a text, b text, c numeric, d timestamptz, e text, f text, g int, h bool, k text',
    rowBytes: 347,
    rows: (count) => `
      select i, md5(i::text), md5((i + 1)::text), i * 1.5, timestamptz '2026-01-31' + i * interval '1 s',
             md5((i + 2)::text) || md5((i + 3)::text) || md5((i + 4)::text), repeat('x', 100), i % 17, i % 3 = 0,
             md5((i + 5)::text)
      from generate_series(1, ${count}) i`,
  },
  points: {
    columns: 'cartodb_id int, the_geom postgis.geometry, name text',
    rowBytes: 71,
    rows: (count) => `
      select i, postgis.st_setsrid(postgis.st_makepoint(i * 0.0001 % 180, i * 0.00007 % 90), 4326), 'name ' || i
      from generate_series(1, ${count}) i`,
  },
} as const satisfies Record<string, Kind>

/** A service with a user and the empty table `target`. */
export type Field = Readonly<{
  pid: number
  /**
   * Runs a shell command in the folder. It may use `$psql`, `$gdal` (the database as GDAL opens it), the addresses
   * `$from` and `$to` of the two copies, `$sql` of all rows, and `$imports` of the Import API with its `$key`.
   */
  shell: (command: string) => Promise<void>
  sql: (text: string) => Promise<unknown>
  /** Makes the server itself read `source.csv` into `target`: nothing can be faster. */
  readDirectly: () => Promise<unknown>
}>

/** `rows`: the table `source` is full. `files`: they are `source.csv` and `source.csv.gz` in the folder. */
export type Content = 'rows' | 'files'

export async function openField(
  frame: Frame,
  kind: Kind,
  megabytes: number,
  contents: readonly Content[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Field> {
  const service = await frame.startService(environment)
  const user = (await service.admin('POST', '/users', { username: 'bench' })) as { api_key: string }
  const database = await databaseOf(frame, service.namespace)
  const client = await frame.connect(database)
  const endpoint = (name: string, q: string) =>
    `${service.url}/user/bench/api/v2/sql${name && `/${name}`}?${new URLSearchParams({ q, api_key: user.api_key })}`
  const address = await frame.urlOf(database)
  const variables = {
    psql: `psql -qX ${address.href}`,
    from: endpoint('copyfrom', 'COPY target FROM STDIN CSV'),
    to: endpoint('copyto', 'COPY source TO STDOUT CSV'),
    sql: endpoint('', 'select * from source'),
    gdal: gdalSource(address),
    imports: `${service.url}/user/bench/api/v1/imports`,
    key: user.api_key,
  }
  const rows = kind.rows(Math.ceil((megabytes * 1e6) / kind.rowBytes))
  for (const table of ['source', 'target']) {
    await client.query(`create table public.${table} (${kind.columns})`)
    await client.query(`grant all on public.${table} to public`)
  }
  if (contents.includes('rows')) {
    await client.query(`insert into public.source ${rows}`)
    await client.query('vacuum (freeze, analyze) public.source')
  }
  const folder = contents.includes('files') ? await filesOf(rows, variables) : await frame.makeFolder()
  return {
    pid: service.pid,
    shell: (command) => runShell(folder, variables, command),
    sql: (text) => client.query(text),
    readDirectly: () => client.query(`copy public.target from '${join(folder, 'source.csv')}' csv`),
  }
}

/** PostGIS is in its own schema. */
function gdalSource({ href }: URL): string {
  const address = new URL(href.replace(/^postgres:/, 'postgresql:'))
  address.searchParams.set('options', '-csearch_path=public,postgis')
  return address.href.replaceAll('+', '%20')
}

/** Made once for all entries of a run: making them takes longer than measuring most entries. */
function filesOf(rows: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const made = folders.get(rows) ?? makeFiles(rows, variables)
  folders.set(rows, made)
  return made
}

const folders = new Map<string, Promise<string>>()

async function makeFiles(rows: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder()
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const query = rows.replaceAll(/\s+/g, ' ')
  await runShell(folder, variables, `$psql -c "\\copy (${query}) to 'source.csv' csv" && gzip -k source.csv`)
  return folder
}

async function databaseOf(frame: Frame, namespace: string): Promise<string> {
  const control = await frame.connect(namespace)
  const { rows } = await control.query(
    `select d.name from cartage.users u join cartage.databases d on d.id = u.database_id where u.username = 'bench'`,
  )
  return rows[0].name
}

async function runShell(folder: string, variables: Record<string, string>, command: string): Promise<void> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
}
