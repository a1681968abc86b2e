/** Expressions of values that are hard for a function, by argument type. */
export function hostileValues(type: string): readonly string[] {
  return values[type] ?? alike(type) ?? [`null::${castable(type)}`]
}

const alike = (type: string) => {
  const element = /^(.*)\[\]$/.exec(type)?.[1]
  if (element === undefined) return undefined
  return [
    `'{}'::${type}`,
    `array[null]::${type}`,
    ...hostileValues(element)
      .slice(0, 4)
      .map((value) => `array[${value}, ${value}]::${type}`),
  ]
}

/** Pseudo-types have no values of their own. */
const castable = (type: string) => (/^(any|record|cstring|trigger|"any")/.test(type) ? 'text' : type)

const paths = ['/dev/ptmx', '/dev/zero', '/etc/passwd', '../../../../etc/passwd']
const integers = ['0', '1', '-1', '32767', '-32768']
const nested = (open: string, inner: string, close: string) =>
  `repeat('${open}', 60000) || '${inner}' || repeat('${close}', 60000)`

const texts = [
  `''`,
  `'a'`,
  `repeat('a', 20000)`,
  `repeat('%', 5000) || 'b'`,
  `repeat('(a*)*', 300)`,
  nested('(', 'a', ')'),
  nested('[', '1', ']'),
  nested('{"type":"GeometryCollection","geometries":[', '{"type":"Point","coordinates":[1,1]}', ']}'),
  nested('GEOMETRYCOLLECTION(', 'POINT(1 1)', ')'),
  nested('<a>', '', '</a>'),
  `repeat('010700000001000000', 60000) || '0101000000000000000000f03f000000000000f03f'`,
  `repeat('0700', 60000)`,
  `repeat('!', 60000)`,
  ...paths.map((path) => `'${path}'`),
  ...paths.map((path) => `'+init=${path}:x +type=crs'`),
  ...paths.map((path) => `'+proj=longlat +nadgrids=${path} +type=crs'`),
  `'+proj=pipeline ' || repeat('+step +proj=merc ', 20000)`,
  `'quad_segs=1000000000'`,
  `'1e1000000'`,
  `'9999999999999999999999999'`,
  `'-infinity'`,
  `'NaN'`,
  `'public'`,
  `'pg_catalog.pg_authid'`,
  `'SELECT 1'`,
  `'NFKD'`,
  gmlCircle(),
]

function gmlCircle(): string {
  const link = (to: string) =>
    `<gml:geometryMember><gml:MultiGeometry xlink:type="simple" xlink:href="#${to}"/></gml:geometryMember>`
  const part = (id: string, to: string) =>
    `<gml:geometryMember><gml:MultiGeometry gml:id="${id}">${link(to)}</gml:MultiGeometry></gml:geometryMember>`
  return `'<gml:MultiGeometry xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink">${part('a', 'b')}${part('b', 'a')}</gml:MultiGeometry>'`
}

const floats = [
  '0',
  '1',
  '-1',
  `'NaN'`,
  `'Infinity'`,
  `'-Infinity'`,
  '1e308',
  '-1e308',
  '1e-308',
  '1e-9',
  '0.0001',
]
/** PostGIS reads past empty parts, and GEOS cannot handle NaN and infinity. */
const strangeShapes = [
  `'POINT ZM EMPTY'`,
  `'POINT M EMPTY'`,
  `'POINT(NaN NaN)'`,
  `'POINT Z(1 1 NaN)'`,
  `'LINESTRING EMPTY'`,
  `'LINESTRING(0 0,0 0)'`,
  `'LINESTRING ZM(0 0 0 0,1 1 1 1,2 2 2 -5)'`,
  `'LINESTRING(0 0,NaN NaN)'`,
  `'POLYGON EMPTY'`,
  `'POLYGON((0 0,0 0,0 0,0 0))'`,
  `'POLYGON((0 0,NaN NaN,1 0,0 0))'`,
  `'MULTIPOINT EMPTY'`,
  `'MULTIPOINT(EMPTY)'`,
  `'MULTIPOINT(EMPTY,1 1)'`,
  `'MULTIPOINT(1 1,EMPTY)'`,
  `'MULTIPOINT Z(EMPTY,1 1 1)'`,
  `'MULTILINESTRING EMPTY'`,
  `'MULTILINESTRING(EMPTY)'`,
  `'MULTILINESTRING(EMPTY,(0 0,1 1))'`,
  `'MULTILINESTRING((0 0,1 1),EMPTY)'`,
  `'MULTILINESTRING(EMPTY,(0 0,170 80,-170 -80))'`,
  `'MULTIPOLYGON EMPTY'`,
  `'MULTIPOLYGON(EMPTY)'`,
  `'MULTIPOLYGON(EMPTY,((0 0,1 1,1 0,0 0)))'`,
  `'MULTIPOLYGON(((0 0,1 1,1 0,0 0)),EMPTY)'`,
  `'GEOMETRYCOLLECTION EMPTY'`,
  `'GEOMETRYCOLLECTION(POINT EMPTY)'`,
  `'GEOMETRYCOLLECTION(POINT EMPTY,LINESTRING(0 0,1 1))'`,
  `'GEOMETRYCOLLECTION(POLYGON EMPTY,POINT(1 1),GEOMETRYCOLLECTION(LINESTRING EMPTY))'`,
  `'GEOMETRYCOLLECTION(MULTIPOINT(EMPTY,1 1))'`,
  `'CIRCULARSTRING EMPTY'`,
  `'CIRCULARSTRING(0 0,0 0,0 0)'`,
  `'CIRCULARSTRING(0 0,NaN NaN,2 0)'`,
  `'COMPOUNDCURVE EMPTY'`,
  `'CURVEPOLYGON EMPTY'`,
  `'MULTICURVE EMPTY'`,
  `'MULTICURVE(EMPTY,(0 0,1 1))'`,
  `'MULTISURFACE EMPTY'`,
  `'MULTISURFACE(CURVEPOLYGON EMPTY,((0 0,1 1,1 0,0 0)))'`,
  `'POLYHEDRALSURFACE EMPTY'`,
  `'TIN EMPTY'`,
  `'TRIANGLE EMPTY'`,
  `'TRIANGLE((0 0,0 0,0 0,0 0))'`,
  `'SRID=4326;POINT(1e300 91)'`,
]

const geometries = [
  ...strangeShapes,
  `'POINT EMPTY'`,
  `'POINT(1 1)'`,
  `'SRID=4326;POINT Z(0 90 1e300)'`,
  `'LINESTRING(0 0, 1 1)'`,
  `'LINESTRING(0 0, 1e300 1e300, 0 1e-300)'`,
  `'LINESTRING M(0 0 1, 0 0 1)'`,
  `'POLYGON((0 0, 1 0, 1 1, 0 1, 0 0), (0 0, 1 1, 1 0, 0 0))'`,
  `'MULTIPOLYGON EMPTY'`,
  `'GEOMETRYCOLLECTION(GEOMETRYCOLLECTION EMPTY, POINT(1 1), POLYGON((0 0, 1 0, 1 1, 0 0)))'`,
  `'CURVEPOLYGON(CIRCULARSTRING(0 0, 4 0, 4 4, 0 4, 0 0))'`,
  `'COMPOUNDCURVE(CIRCULARSTRING(0 0, 1 1, 1 0), (1 0, 0 1))'`,
  `'TRIANGLE((0 0, 0 9, 9 0, 0 0))'`,
  `'TIN(((0 0 0, 0 0 1, 0 1 0, 0 0 0)))'`,
  `'POLYHEDRALSURFACE(((0 0 0, 0 0 1, 0 1 1, 0 1 0, 0 0 0)))'`,
  `postgis.st_makepoint('NaN', 'NaN')`,
  `postgis.st_makeline(postgis.st_makepoint('Infinity', 0), postgis.st_makepoint(0, '-Infinity'))`,
  `(select postgis.st_makeline(postgis.st_makepoint(sin(n) * 100, cos(n * 7) * 100)) from generate_series(1, 300) n)`,
  `(select postgis.st_collect(postgis.st_makepoint(sin(n), cos(n))) from generate_series(1, 500) n)`,
  `(${nest('POINT(1 1)')})`,
]

/** Nested collections: functions that read text stop at some depth, those that collect do not. */
function nest(inner: string): string {
  return `with recursive nest (g, n) as (
    select '${inner}'::postgis.geometry, 0
    union all select postgis.st_collect(array[g]), n + 1 from nest where n < 500)
    select g from nest order by n desc limit 1`
}

const bytes = [
  `''::bytea`,
  `decode(repeat('070001', 60000) || '01000204', 'hex')`,
  `decode(repeat('010700000001000000', 60000), 'hex')`,
  `decode('6667620366676200' || repeat('ff', 1000), 'hex')`,
  `decode(repeat('ff', 10000), 'hex')`,
  `decode(repeat('00', 10000), 'hex')`,
]

const as = (type: string, list: readonly string[]) => list.map((value) => `(${value})::${type}`)

const values: Record<string, readonly string[]> = {
  text: as('text', texts),
  'character varying': as('varchar', texts),
  character: as('bpchar', texts),
  cstring: texts.map((value) => `textout(${value})`),
  name: as('name', [`''`, `'pg_catalog'`, `repeat('a', 100)`]),
  '"char"': as('"char"', [`''`, `'a'`]),
  json: as('json', [
    `'{}'`,
    `'[]'`,
    `'null'`,
    `repeat('[', 3000) || repeat(']', 3000)`,
    `'{"a":{"b":[1e400]}}'`,
  ]),
  jsonb: as('jsonb', [
    `'{}'`,
    `'[]'`,
    `'null'`,
    `repeat('[', 3000) || repeat(']', 3000)`,
    `'{"a":{"b":[1e400]}}'`,
  ]),
  jsonpath: as('jsonpath', [`'$'`, `'$.**'`, `'$[*] ? (@ like_regex "(a*)*b")'`, `repeat('-', 1000) || '$'`]),
  xml: [
    `xmlparse(content '')`,
    `xmlparse(document '<a><b/></a>')`,
    `xmlparse(content repeat('<a>', 200) || repeat('</a>', 200))`,
  ],
  bytea: bytes,
  bit: as('bit varying', [`''`, `repeat('10', 5000)`]),
  'bit varying': as('bit varying', [`''`, `repeat('10', 5000)`]),
  smallint: as('smallint', integers),
  integer: as('integer', [...integers, '2147483647', '-2147483648', '1000000', '4326', '999999']),
  bigint: as('bigint', [...integers, '9223372036854775807', '-9223372036854775808', '100000000']),
  real: as('real', ['0', '1', `'NaN'`, `'Infinity'`, '1e38']),
  'double precision': as('double precision', floats),
  numeric: as('numeric', [
    '0',
    '-1',
    `'NaN'`,
    `'Infinity'`,
    `repeat('9', 3000)`,
    `'0.' || repeat('9', 3000)`,
    '1e1000',
  ]),
  boolean: ['true', 'false'],
  oid: as('oid', ['0', '1', '4294967295', `'pg_catalog.pg_authid'::regclass`]),
  regclass: [`'pg_catalog.pg_authid'::regclass`, `0::regclass`],
  tid: [`'(0,1)'::tid`, `'(4294967295,65535)'::tid`],
  interval: as('interval', [`'0'`, `'178000000 years'`, `'-1 microsecond'`]),
  date: as('date', [`'infinity'`, `'-infinity'`, `'4713-01-01 BC'`, `'5874897-12-31'`]),
  'timestamp without time zone': as('timestamp', [`'infinity'`, `'4713-01-01 BC'`, `'2000-01-01'`]),
  'timestamp with time zone': as('timestamptz', [`'infinity'`, `'4713-01-02 BC'`, `'2000-01-01'`]),
  path: as('path', [`'((0,0))'`, `'[(0,0),(NaN,1e308)]'`]),
  polygon: as('polygon', [`'((0,0))'`, `'((0,0),(1,1),(NaN,1e308))'`]),
  circle: as('circle', [`'<(0,0),1e308>'`, `'<(NaN,0),1>'`]),
  tsquery: as('tsquery', [`''`, `'a <-> b'`, `repeat('!', 1000) || 'a'`, `repeat('a & ', 2000) || 'b'`]),
  tsvector: as('tsvector', [`''`, `'a:1 b:2'`]),
  'postgis.geometry': as('postgis.geometry', geometries),
  'postgis.geography': [
    `'POINT(0 90)'`,
    `'LINESTRING(0 0, 180 0)'`,
    `'POLYGON((0 0, 180 0, 0 90, 0 0))'`,
    `'POINT EMPTY'`,
  ].map((value) => `${value}::postgis.geography`),
  'postgis.box2d': [`'BOX(0 0, 1 1)'::postgis.box2d`, `'BOX(-1e300 -1e300, 1e300 1e300)'::postgis.box2d`],
  'postgis.box3d': [`'BOX3D(0 0 0, 1e300 1e300 1e300)'::postgis.box3d`],
  anyelement: ['1', `'POINT(1 1)'::postgis.geometry`],
  anynonarray: ['1'],
  anycompatible: ['1'],
  anycompatiblenonarray: ['1'],
  anyarray: [`'{}'::integer[]`, 'array[1, null, 3]', 'array[[1, 2], [3, 4]]'],
  anycompatiblearray: [`'{}'::integer[]`, 'array[1, null, 3]'],
  anyrange: [`'empty'::int4range`, `'(,)'::int4range`],
  anymultirange: [`'{}'::int4multirange`, `'{(,)}'::int4multirange`],
  anyenum: ['null'],
  '"any"': ['1', `repeat('a', 1000)`, `row(1, 'a')`],
  record: [`row(1, 'a')`, `row()`],
}
