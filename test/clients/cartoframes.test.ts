import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CartoClient, CartoException, readAnswer } from '../support/keys/carto-client.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

test('cartoframes uploads a data frame and reads it back', async (t) => {
  const { url, user } = await setup(t, { worker: true })
  const carto = new CartoClient(user)
  await assertQuotaAllows(url, user)
  const schema = await currentSchema(carto)
  assert.equal(await hasTable(carto, schema, 'cities'), false)
  await runJob(
    carto,
    `BEGIN; DROP TABLE IF EXISTS cities; CREATE TABLE cities (name text, people bigint, big boolean, seen timestamp, the_geom geometry(Geometry, 4326)); SELECT CDB_CartodbfyTable('${schema}', 'cities'); COMMIT;`,
  )
  const rows = [
    'Madrid|3223000|True|2026-01-31 10:00:00|SRID=4326;POINT (-3.7 40.4)\n',
    '__null|__null|__null|__null|__null\n',
  ]
  const { total_rows } = await carto.copyFrom(
    "COPY cities(name,people,big,seen,the_geom) FROM stdin WITH (FORMAT csv, DELIMITER '|', NULL '__null');",
    rows,
  )
  assert.equal(total_rows, 2)
  assert.equal(await hasTable(carto, schema, 'cities'), true)

  const { fields } = await carto.sql(`SELECT * FROM (SELECT * FROM "${schema}"."cities") _q LIMIT 0`)
  const types = Object.fromEntries(Object.entries(fields).map(([name, { type }]) => [name, type]))
  assert.deepEqual(types, {
    cartodb_id: 'number',
    the_geom: 'geometry',
    the_geom_webmercator: 'geometry',
    name: 'string',
    people: 'number',
    big: 'boolean',
    seen: 'date',
  })
  const columns = Object.keys(fields).filter((name) => name !== 'the_geom_webmercator')
  const csv = await carto.copyTo(
    `COPY (SELECT ${columns} FROM (SELECT * FROM "${schema}"."cities") _q) TO stdout WITH (FORMAT csv, HEADER true, NULL '__null')`,
  )
  const [header, first] = csv.split('\n')
  assert.equal(header, columns.join())
  assert.ok(first!.includes('Madrid,3223000,t,2026-01-31 10:00:00'), first)
})

test("cartoframes reads a table's rows, geometry, bounds and privacy", async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  await carto.sql(
    "create table p as select ST_SetSRID(ST_MakePoint(n, 2 * n), 4326) as the_geom from generate_series(1, 3) n; select CDB_CartodbfyTable('p')",
  )
  const query = 'SELECT * FROM "public"."p"'
  const count = await carto.sql(`SELECT COUNT(*) FROM (${query}) _query`)
  assert.deepEqual(count.rows, [{ count: 3 }])
  const geometry = await carto.sql(
    `
            SELECT distinct ST_GeometryType(the_geom) AS geom_type
            FROM (${query}) q
            LIMIT 5
        `,
    { doPost: false },
  )
  assert.deepEqual(geometry.rows, [{ geom_type: 'ST_Point' }])
  const bounds = await carto.sql(
    `SELECT ARRAY[
       ARRAY[st_xmin(geom_env), st_ymin(geom_env)],
       ARRAY[st_xmax(geom_env), st_ymax(geom_env)]
     ] bounds FROM (SELECT ST_Extent(the_geom) geom_env FROM (${query}) q) q;`,
    { doPost: false },
  )
  assert.deepEqual(bounds.rows[0]!.bounds, [
    [1, 2],
    [3, 6],
  ])
  const tables = await carto.sql(`SELECT CDB_QueryTablesText('select * from p') as tables`)
  assert.deepEqual(tables.rows, [{ tables: ['public.p'] }])
  assert.equal(await privacyOf(carto, 'p'), 'PRIVATE')
})

test('cartoframes makes a table public and checks it by EXPLAIN without a key', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  const everybody = new CartoClient(user, 'default_public')
  await carto.sql('create table p (x int)')
  const isPublic = () =>
    everybody.sql('EXPLAIN SELECT * FROM p', { doPost: false }).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof CartoException)
        return false
      },
    )
  assert.equal(await isPublic(), false)
  // Dataset.save: everything it knows of the dataset, with the changed privacy.
  const saved = await carto.send('api/v1/viz/p', 'PUT', {
    json: { id: 'p', name: 'p', type: 'table', tags: [], privacy: 'PUBLIC' },
  })
  assert.equal(saved.status, 200)
  assert.equal(await privacyOf(carto, 'p'), 'PUBLIC')
  assert.equal(await isPublic(), true)
})

test('cartoframes renames and deletes tables, and recognises a missing one', async (t) => {
  const { user } = await setup(t)
  const carto = new CartoClient(user)
  await carto.sql('create table a (x int)')
  await carto.sql('ALTER TABLE a RENAME TO b;')
  const deleted = await carto.sql('DROP TABLE IF EXISTS b')
  assert.equal(deleted.notices, undefined)
  const absent = await carto.sql('DROP TABLE IF EXISTS b')
  assert.ok(absent.notices![0]!.includes('does not exist'))
})

/** `Credentials.me_data`: an absolute path, so it drops the account's base path. */
async function assertQuotaAllows(url: string, user: TestUser): Promise<void> {
  const me = await readAnswer<{ user_data: { id: string; remaining_byte_quota?: number } }>(
    await new CartoClient(user).send('/api/v3/me', 'GET'),
  )
  assert.ok(me.user_data.id)
  assert.equal(me.user_data.remaining_byte_quota, undefined, url)
}

async function currentSchema(carto: CartoClient): Promise<string> {
  const { rows } = await carto.sql('SELECT current_schema()', { doPost: false })
  return rows[0]!.current_schema as string
}

async function hasTable(carto: CartoClient, schema: string, table: string): Promise<boolean> {
  return carto.sql(`EXPLAIN SELECT * FROM "${schema}"."${table}"`, { doPost: false }).then(
    () => true,
    () => false,
  )
}

async function runJob(carto: CartoClient, query: string): Promise<void> {
  const { job_id } = await carto.createJob(query)
  await eventually(async () => {
    const { status, failed_reason } = await carto.readJob(job_id)
    assert.equal(status, 'done', failed_reason)
  })
}

async function privacyOf(carto: CartoClient, table: string): Promise<string> {
  const params = { type: 'table', exclude_shared: 'true' }
  const { privacy } = await readAnswer<{ privacy: string }>(
    await carto.send(`api/v1/viz/${table}`, 'GET', { params }),
  )
  return privacy
}
