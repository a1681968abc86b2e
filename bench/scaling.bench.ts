import pg from 'pg'
import type { Entry, Measured } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'
import { RawClient } from './frame/raw-client.ts'
import { type JobUser, makeUsers, runJob } from './jobs/job-load.ts'

const rows = 100_000

/**
 * One table in two partitions. Ours has the second one on another cluster, through postgres_fdw. Both are on this
 * machine.
 */
export const entries: readonly Entry[] = [
  entry('copy', `COPY of ${rows} points into it`, 's', async (table, { service, user }) => {
    const taken = await seconds(() => copyIn(service.url, user, table))
    return taken
  }),
  entry('tile', 'A tile of all of its points, not stored', 'ms', async (table, { service, user }) => {
    const url = `${service.url}${user.path.replace('/api/v2/sql/job', '')}/api/v1/tiles/${table}/0/0/0?${user.query}`
    return 1000 * (await seconds(() => read(url)))
  }),
  entry('job', 'A job that counts its points by degree', 'ms', async (table, { service, user }) => {
    const client = new RawClient(service.url)
    const taken = await runJob(
      client,
      user,
      `create table found as select floor(postgis.st_x(the_geom)) as x, count(*) as points from ${table} group by 1`,
    )
    await runJob(client, user, 'drop table found')
    client.close()
    return taken
  }),
]

type House = Readonly<{ service: Awaited<ReturnType<Frame['startService']>>; user: JobUser }>

function entry(
  name: string,
  title: string,
  unit: Entry['unit'],
  run: (table: string, house: House) => Promise<number>,
): Entry {
  const prepare = async (frame: Frame): Promise<Omit<Measured, 'tearDown' | 'watched'>> => {
    const house = await openHouse(frame)
    if (name !== 'copy')
      for (const table of ['near', 'spread']) await copyIn(house.service.url, house.user, table)
    return { baseline: () => run('near', house), ours: () => run('spread', house) }
  }
  return {
    name: `scaling-${name}`,
    title: `${title}, half of the table on another host`,
    baseline: 'the same with both partitions on one host',
    unit,
    aim: 'as little more as the network takes',
    pairs: 5,
    prepare: inFrame(prepare),
  }
}

async function openHouse(frame: Frame): Promise<House> {
  const service = await frame.startService({ CARTAGE_TILE_CACHE_BYTES: '0' })
  const [user] = (await makeUsers(frame, service, 1)) as [JobUser]
  const far = new URL((await frame.secondCluster()).url)
  await prepareFar(far)
  await openServer(await frame.connect(user.database), user, far)
  const client = new RawClient(service.url)
  for (const table of ['near', 'spread']) {
    await runJob(
      client,
      user,
      `create table ${table} (cartodb_id bigint not null, the_geom geometry(Geometry, 4326),
         the_geom_webmercator geometry(Geometry, 3857)) partition by range (cartodb_id)`,
    )
    await runJob(
      client,
      user,
      `create table ${table}_1 partition of ${table} for values from (minvalue) to (${rows / 2})`,
    )
  }
  await runJob(
    client,
    user,
    `create table near_2 partition of near for values from (${rows / 2}) to (maxvalue)`,
  )
  await runJob(
    client,
    user,
    `create foreign table spread_2 partition of spread for values from (${rows / 2}) to (maxvalue)
     server far options (schema_name 'public', table_name 'spread_2')`,
  )
  client.close()
  return { service, user }
}

const password = 'only for benchmarks'

/** The operator's steps on the other host. */
async function prepareFar(far: URL): Promise<void> {
  await withClient(far.href, (client) => client.query(`create database far`))
  const address = new URL(far)
  address.pathname = '/far'
  await withClient(address.href, (client) =>
    client.query(
      `create schema postgis; create extension postgis schema postgis; grant usage on schema postgis to public;
       create role far_user login password '${password}';
       create table public.spread_2 (cartodb_id bigint not null, the_geom postgis.geometry(Geometry, 4326),
         the_geom_webmercator postgis.geometry(Geometry, 3857));
       grant select, insert, update, delete, truncate on public.spread_2 to far_user`,
    ),
  )
}

/** The operator's steps in the tenant database. */
async function openServer(client: pg.Client, { database: master }: JobUser, far: URL): Promise<void> {
  await client.query(
    `create schema if not exists fdw; create extension postgres_fdw schema fdw;
     create server far foreign data wrapper postgres_fdw
       options (host '${far.hostname}', port '${far.port}', dbname 'far', extensions 'postgis', fetch_size '10000', batch_size '1000');
     grant usage on foreign server far to "${master}";
     create user mapping for "${master}" server far options (user 'far_user', password '${password}')`,
  )
}

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<unknown>) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await work(client).finally(() => client.end())
}

async function copyIn(url: string, { path, query }: JobUser, table: string): Promise<void> {
  const q = encodeURIComponent(
    `copy ${table} (cartodb_id, the_geom, the_geom_webmercator) from stdin with (format csv)`,
  )
  await read(`${url}${path.replace('/sql/job', '/sql/copyfrom')}?q=${q}&${query}`, {
    method: 'POST',
    body: csv,
  })
}

const csv = Array.from({ length: rows }, (_, n) => {
  const [x, y] = [((n * 137.5) % 340) - 170, ((n * 61.8) % 120) - 60]
  const [east, north] = [
    x * 111_319.49,
    (Math.log(Math.tan(Math.PI / 4 + (y * Math.PI) / 360)) * 180 * 111_319.49) / Math.PI,
  ]
  return `${n},SRID=4326;POINT(${x} ${y}),SRID=3857;POINT(${east} ${north})\n`
}).join('')

async function read(url: string, init: RequestInit = {}): Promise<void> {
  const answer = await fetch(url, init)
  const body = await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`${answer.status} ${Buffer.from(body).toString().slice(0, 500)}`)
}
