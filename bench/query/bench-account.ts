import type { Frame } from '../frame/frame.ts'
import type { RunningService } from '../frame/service.ts'

/** A user of a service, with tables to read. */
export type BenchAccount = Readonly<{
  service: RunningService & Readonly<{ namespace: string }>
  database: string
  /** The URL of a statement at the SQL endpoint. */
  urlOf: (sql: string, format?: string, base?: string) => string
}>

export async function prepareAccount(frame: Frame): Promise<BenchAccount> {
  const service = await frame.startService()
  const created = await service.admin('POST', '/users', { username: 'someone' })
  const { api_key: token } = created as { api_key: string }
  const database = await databaseOf(frame, service.namespace)
  const client = await frame.connect(database)
  await client.query(tables)
  return {
    service,
    database,
    urlOf: (sql, format = 'json', base = service.url) =>
      `${base}/user/someone/api/v2/sql?q=${encodeURIComponent(sql)}&format=${format}&api_key=${token}`,
  }
}

async function databaseOf(frame: Frame, namespace: string): Promise<string> {
  const { rows } = await (await frame.connect()).query(
    `select datname from pg_database where datname ~ ('^' || $1 || '_u[0-9]+$')`,
    [namespace],
  )
  return rows[0].datname
}

const tables = `
  create table rows10k as
    select n as id, 'name of ' || n as name, n * 1.37::float8 as value, now() + n * interval '1 second' as at, n % 2 = 0 as flag
    from generate_series(1, 10000) n;
  alter table rows10k add primary key (id);
  create table points10k as
    select id, name, value, flag, postgis.ST_SetSRID(postgis.ST_MakePoint(id % 360 - 179.123456, id % 180 - 89.654321), 4326) as the_geom
    from rows10k;
  grant select on rows10k, points10k to public;
  analyze`
