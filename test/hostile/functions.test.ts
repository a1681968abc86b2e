import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keysClient, roleOf } from '../support/keys/keys-client.ts'
import { column, refusal, value } from '../support/postgres/tenant-session.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { HostileCaller } from './functions/caller.ts'
import { executables, knownFunctions } from './functions/executable.ts'
import { hostileCall, randomNumbers } from './functions/hostile-calls.ts'

/** How long to call functions; for the long form use a separate cluster, see CONTRIBUTING.md. */
const seconds = Number(process.env.CARTAGE_TEST_FUNCTIONS_SECONDS ?? 6)
const seed = Number(process.env.CARTAGE_TEST_SEED ?? 1)

test('a tenant can execute only functions that were reviewed', async (t) => {
  const { house, user, roles } = await tenants(t)
  const known = await knownFunctions()
  const found = await executables(house, user, roles)
  assert.ok(found.length > 2_000)
  assert.deepEqual(
    found.map(({ signature }) => signature).filter((signature) => !known.has(signature)),
    [],
    'look each of them through (see the head of known-functions.txt), then list or revoke it',
  )
})

test('no function with any arguments crashes the server or ignores its termination', async (t) => {
  const { house, user, roles } = await tenants(t)
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} CARTAGE_TEST_FUNCTIONS_SECONDS=${seconds}`)
  const random = randomNumbers(seed)
  const all = (await executables(house, user, roles)).filter(
    ({ name }) => !sideEffects.test(name) && !uninterruptible.test(name),
  )
  const caller = new HostileCaller(house, user)
  t.after(() => caller.close())
  const deadline = Date.now() + seconds * 1_000
  let calls = 0
  for (; Date.now() < deadline && caller.complaints.length < 20; calls += 1) {
    const chosen = all[Math.floor(random() * all.length)]!
    await caller.call(chosen.role, hostileCall(chosen, random), 300)
  }
  t.diagnostic(`${calls} calls, ${caller.ended} ended`)
  assert.deepEqual(caller.complaints, [])
})

const dangerous = [
  `select st_voronoilines('POINT(1 1)'::geometry, 0, 'LINESTRING(0 0,NaN NaN,1 1)'::geometry)`,
  `select st_unaryunion('GEOMETRYCOLLECTION(POINT EMPTY,LINESTRING(0 0,1 1))'::geometry)`,
  `select st_issimple('MULTIPOINT(EMPTY,1 1)'::geometry)`,
  `select postgis.st_issimple('MULTIPOINT(EMPTY,1 1)'::geometry)`,
  `select st_pointonsurface('MULTIPOINT(EMPTY,1 1)'::geometry)`,
  `select st_removerepeatedpoints('MULTIPOINT(EMPTY,1 1)'::geometry, 5)`,
  `select st_node('MULTILINESTRING(EMPTY,(0 0,1 1))'::geometry)`,
  `select st_assvg('MULTILINESTRING(EMPTY,(0 0,1 1))'::geometry, 5, 5)`,
  `select st_assvg('MULTILINESTRING(EMPTY,(0 0,1 1))'::geography, 5, 5)`,
  `select st_concavehull('POLYGON((0 0,0 0,0 0,0 0))'::geometry, 0.5, true)`,
  `select st_concavehull('MULTIPOLYGON(EMPTY,((0 0,1 1,1 0,0 0)))'::geometry, 0, false)`,
  `select st_wrapx('LINESTRING M(0 0 1,1 1 2)'::geometry, 'NaN', 'NaN')`,
  `select st_offsetcurve('LINESTRING(0 0,1 1)'::geometry, 'NaN', '')`,
  `select st_3dclosestpoint('CURVEPOLYGON EMPTY'::geometry, 'POINT ZM EMPTY'::geometry)`,
  `select st_3dlongestline('POINT(1 1)'::geometry, 'POINT ZM EMPTY'::geometry)`,
  `select st_3dshortestline('POINT(1 1)'::geometry, 'POINT ZM EMPTY'::geometry)`,
  `select st_hausdorffdistance('LINESTRING(0 0,1 1)'::geometry, 'MULTIPOINT(EMPTY,1 1)'::geometry)`,
  `select st_hausdorffdistance('LINESTRING(0 0,1 1)'::geometry, 'MULTIPOINT(EMPTY,1 1)'::geometry, 0.5)`,
  `select st_sharedpaths('LINESTRING(0 0,1 1)'::geometry, 'MULTILINESTRING(EMPTY,(0 0,1 1))'::geometry)`,
  `select st_union(array['MULTIPOLYGON(EMPTY,((0 0,1 1,1 0,0 0)))'::geometry, 'POINT(NaN NaN)'::geometry])`,
  `select st_union(g) from (values ('POINT(1 1)'::geometry), ('LINESTRING(0 0,NaN NaN)')) shapes (g)`,
  `select st_memunion(g) from (values ('POINT(1 1)'::geometry), ('LINESTRING(0 0,NaN NaN)')) shapes (g)`,
  `select st_covers('LINESTRING(0 0,1 1)'::geography, 'MULTILINESTRING(EMPTY,(0 0,1 1))'::geography)`,
  `select st_coveredby('MULTIPOINT(EMPTY,1 1)'::geography, 'MULTILINESTRING(EMPTY,(0 0,1 1))'::geography)`,
  `select st_centroid('MULTILINESTRING(EMPTY,(0 0,1 1))'::geography, true)`,
  `select 'POINT ZM EMPTY'::geometry <<->> 'LINESTRING ZM(0 0 0 0,1 1 1 1,2 2 2 -5)'::geometry`,
  `select st_aslatlontext('SRID=4326;POINT(1e300 91)'::geometry, '')`,
  `select st_geomfromtwkb(decode(repeat('072001', 40000) || '01000202', 'hex'))`,
  `select st_geomfromtwkb(decode(repeat('070001', 60000) || '01000204', 'hex'))`,
  `select postgis.st_geomfromtwkb(decode(repeat('070001', 60000) || '01000204', 'hex'))`,
  `select st_transform('POINT(1 1)'::geometry, '+init=/dev/ptmx:x +type=crs', 'EPSG:4326')`,
  `select st_transform('POINT(1 1)'::geometry, 'EPSG:4326', '+proj=longlat +nadgrids=/dev/ptmx')`,
  `select postgis.postgis_transform_geometry('POINT(1 1)', '+init=/dev/ptmx:x', 'EPSG:4326', 0)`,
  `select st_geomfromgml('<gml:Point xmlns:gml="http://www.opengis.net/gml" xlink:href="#a"/>')`,
  `select st_fromflatgeobuftotable('public', 'x', decode('6667620366676200' || repeat('ff', 1000), 'hex'))`,
  `select st_buffer(st_point(0, 0), 1, 'quad_segs=1000000000')`,
  `select st_buffer(st_point(0, 0), 1, 1000000000)`,
  `select st_frechetdistance('LINESTRING(0 0, 1 1)', 'LINESTRING(0 0, 1 1)', 0.00001)`,
  `select st_astwkb((repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry)`,
  `select st_astwkb(array[(repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry], array[1::bigint])`,
  `select null::geometry('')`,
  `select null::geography('', '')`,
  `select postgis.geometry_typmod_in('{""}')`,
  `select st_dump((repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry)`,
  `select st_dumppoints((repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry)`,
  `select st_dumpsegments((repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry)`,
  `select postgis.st_dump((repeat('GEOMETRYCOLLECTION(', 40) || 'POINT(1 1)' || repeat(')', 40))::geometry)`,
  `select st_voronoipolygons('MULTIPOINT(0 0, 1 1, 2 3)', 0, st_makepoint('NaN', 'NaN'))`,
  `select st_asgml('POINT(0 90)'::geography, 2147483647, 999999, '', 'x')`,
  `select st_buffer(st_point(0, 90), 'NaN')`,
  `select st_asx3d('LINESTRING(0 0, 1 1)', 15, 999999)`,
  `select st_simplifypreservetopology(st_makeline(st_makepoint('Infinity', 0), st_point(0, 0)), 1)`,
  `select st_segmentize('LINESTRING(0 0, 180 0)'::geography, 1e-9)`,
  `select xpath('count(//*[count(//*[count(//*)>0])>0])', '<a/>')`,
]

test('functions that crashed the server, opened files or took all memory are refused', async (t) => {
  const { user } = await tenants(t)
  const { publicRole } = user.account
  for (const text of dangerous)
    assert.match((await refusal(user, text, publicRole)) ?? 'allowed', /^(42501|54000|0A000|22023):/, text)
})

test('a text search dictionary that could load itself cannot be created, and others can', async (t) => {
  const { user } = await setup(t)
  await user.sql('create text search dictionary plain (template = simple)')
  const thesaurus = `create text search dictionary loop
    (template = thesaurus, dictfile = thesaurus_sample, dictionary = 'public.plain')`
  await assert.rejects(user.sql(thesaurus), { code: '42501', message: /thesaurus cannot be made here/ })
  await user.sql('alter text search dictionary plain rename to renamed')
})

test('the useful forms of these functions work under their names', async (t) => {
  const { user } = await tenants(t)
  const { publicRole } = user.account
  const point = 'st_setsrid(st_point(1, 1), 4326)'
  for (const [text, expected] of [
    [
      `st_astext(st_geomfromtwkb(st_astwkb('GEOMETRYCOLLECTION(POINT(1 2))'::geometry)))`,
      'GEOMETRYCOLLECTION(POINT(1 2))',
    ],
    [`st_astext(st_transform(${point}, 3857), 0)`, 'POINT(111319 111325)'],
    [`st_astext(st_transform(${point}, 'EPSG:3857'), 0)`, 'POINT(111319 111325)'],
    [
      `st_astext(st_transform(st_point(1, 1), '+proj=longlat +datum=WGS84 +no_defs', 3857), 0)`,
      'POINT(111319 111325)',
    ],
    [`st_npoints(st_buffer(st_point(0, 0), 1))`, 33],
    [`st_npoints(st_buffer(st_point(0, 0), 1, 2))`, 9],
    [`st_npoints(st_buffer(st_point(0, 0), 1, 'quad_segs=2'))`, 9],
    [`st_npoints(st_buffer(${point}::geography, 100)::geometry)`, 33],
    [`st_npoints(st_buffer('POINT(0 0)', 1))`, 33],
    [`st_frechetdistance('LINESTRING(0 0, 1 1)', 'LINESTRING(0 0, 1 2)')`, 1],
    [`st_hausdorffdistance('LINESTRING(0 0, 1 1)', 'LINESTRING(0 0, 1 2)', 0.5)`, 1],
    [
      `st_astext(st_geomfromgml('<gml:Point xmlns:gml="http://www.opengis.net/gml"><gml:pos>1 1</gml:pos></gml:Point>'))`,
      'POINT(1 1)',
    ],
    [`st_npoints(st_segmentize('LINESTRING(0 0, 1 0)'::geography, 60000)::geometry)`, 3],
    [`st_relate('POINT(1 1)', 'POINT(1 1)', '0FFFFFFF2')`, true],
    [
      `(select count(*)::int from st_dump('GEOMETRYCOLLECTION(POINT(1 1), GEOMETRYCOLLECTION(POINT(2 2)))'))`,
      2,
    ],
    [`(select max(path[1]) from st_dumppoints('LINESTRING(0 0, 1 1, 2 2)'))`, 3],
    [`(select count(*)::int from st_dumpsegments('LINESTRING(0 0, 1 1, 2 2)'))`, 2],
    [`st_numgeometries(st_voronoipolygons('MULTIPOINT(0 0, 1 1, 2 3)'))`, 3],
    [`st_srid('SRID=4326;POINT(1 1)'::geometry(Point, 4326))`, 4326],
    [`st_asgml(st_point(1, 1))`, '<gml:Point><gml:coordinates>1,1</gml:coordinates></gml:Point>'],
    [`st_asgml(3, ${point}) ~ 'pos'`, true],
    [`st_npoints(st_letters('Abc')) > 100`, true],
  ] as const)
    assert.equal(await value(user, `select ${text}`, publicRole), expected, text)
})

test("state that an extension's library keeps in a session does not reach the next caller", async (t) => {
  const house = await setup(t, { config: { connectionsPerRole: 1 } })
  const { user } = house
  assert.equal(await pidOf(user), await pidOf(user), 'sessions of strangers are used again')
  await user.sql('create extension citext; create extension isn')
  await ask(user, 'select isn_weak(true)')
  assert.equal((await ask(user, 'select isn_weak() as value')).value, false)
  assert.notEqual(await pidOf(user), await pidOf(user))
  await user.sql('drop extension isn')
  await pidOf(user)
  assert.equal(await pidOf(user), await pidOf(user))
  assert.deepEqual(await column(user, `select extname from pg_extension where extname = 'citext'`), [
    'citext',
  ])
})

const pidOf = async (user: TestUser) => (await ask(user, 'select pg_backend_pid() as value')).value

async function ask(user: TestUser, q: string): Promise<{ value: unknown }> {
  const response = await fetch(`${user.base}/api/v2/sql?${new URLSearchParams({ q })}`)
  const body = (await response.json()) as { rows?: { value: unknown }[] }
  assert.equal(response.status, 200, JSON.stringify(body))
  return { value: body.rows?.[0]?.value }
}

/** An installation with a user; the roles of a stranger, a key and master, in the order they are tried. */
async function tenants(t: TestContext): Promise<{ house: Setup; user: TestUser; roles: string[] }> {
  const house = await setup(t)
  const { user } = house
  await keysClient(user).make('k')
  const { publicRole, masterRole } = user.account
  return { house, user, roles: [publicRole, await roleOf(house, user, 'k'), masterRole] }
}

/**
 * Everybody needs these and PostgreSQL and PostGIS have no other form of them; with values of megabytes, or a billion
 * digits, they ignore signals for longer than 2 s. SECURITY.md says so.
 */
const uninterruptible =
  /\.(strpos|position|replace|split_part|string_to_(array|table)|translate|[blr]?trim|\w*like|normalize|is_normalized|to_(date|timestamp|number|char)|jsonb_contain(s|ed)|\w*regex\w*|st_asgeojson|st_asmvtgeom|st_letters)$/

/** These end sessions, or change what this test relies on. */
const sideEffects = /\.(pg_terminate_backend|pg_cancel_backend|pg_sleep\w*|set_config|pg_(try_)?advisory\w*)$/
