import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup, type TestUser } from '../../support/service/setup.ts'

const ask = (user: TestUser, format: string, q: string, parameters: object = {}) =>
  fetch(`${user.base}/api/v2/sql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, format, api_key: user.masterToken, ...parameters }),
  })

const errorOf = async (answer: Response) => [
  answer.status,
  ...((await answer.json()) as { error: string[] }).error,
]

test('format=svg is a drawing of 1024 by 768, as in the classic service', async (t) => {
  const { user } = await setup(t)
  const line = `select 1 as cartodb_id, st_makeline(st_makepoint(10, 10), st_makepoint(1034, 778)) as the_geom`
  const answer = await ask(user, 'svg', line)
  assert.equal(answer.headers.get('content-type'), 'image/svg+xml; charset=utf-8')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cartodb-query.svg"')
  const svg = await answer.text()
  assert.ok(svg.includes('<path d="M 0 768 L 1024 0" />'), svg)
  assert.ok(svg.includes('viewBox="-6 -6 1036 780"'), svg)
  assert.match(
    svg,
    /^<\?xml version="1\.0"[\s\S]*<svg [^>]*fill:none" xmlns="http:\/\/www\.w3\.org\/2000\/svg"/,
  )
  const named = await ask(user, 'svg', line, { filename: 'mysvg', skipfields: 'the_geom' })
  assert.equal(named.headers.get('content-disposition'), 'attachment; filename="mysvg.svg"')
  assert.ok((await named.text()).includes('M 0 768 L 1024 0'))
  const trimmed = `select 'LINESTRING(0 0, 1024 768, 500.123456 600.98765432)'::geometry as the_geom`
  for (const [dp, path] of [
    [2, 'M 0 768 L 1024 0 500.12 167.01'],
    [3, 'M 0 768 L 1024 0 500.123 167.012'],
  ] as const)
    assert.ok((await (await ask(user, 'svg', trimmed, { dp })).text()).includes(`<path d="${path}" />`))
})

test('a drawing has points as dots, collections part by part, and leaves out NULL', async (t) => {
  const { user } = await setup(t)
  const point = await (await ask(user, 'svg', 'select st_makepoint(5000, -54) as the_geom')).text()
  assert.ok(point.includes('<circle r="5" cx="0" cy="0" />'), point)
  const q = `select 'MULTIPOINT((0 0),(1024 768))'::geometry as the_geom union all select null union all
    select 'GEOMETRYCOLLECTION(POINT(0 768),LINESTRING(0 0,1 1))' union all select 'POLYGON((0 0,0 1,1 1,0 0))'`
  const svg = await (await ask(user, 'svg', q)).text()
  assert.deepEqual([svg.match(/<circle /g)?.length, svg.match(/<path /g)?.length], [3, 2], svg)
  assert.ok(svg.indexOf('<circle') < svg.indexOf('<path'))
  const none = await (await ask(user, 'svg', 'select null::geometry as the_geom where false')).text()
  assert.match(none, /<svg style[^>]*>\n<\/svg>\n$/)
})

test('format=topojson shares borders and keeps properties, as in the classic service', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as gid, 'U' as name, 9007199254740993 as big, 'POLYGON((-5 0,5 0,0 5,-5 0))'::geometry as the_geom union all
    select 2, 'D', 7, 'POLYGON((0 -5,0 5,-5 0,0 -5))' union all select 3, 'null', 8, null`
  const answer = await ask(user, 'topojson', q)
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="cartodb-query.topojson"')
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.match(answer.headers.get('warnings') ?? '', /grid of 10,000 by 10,000, and rows without a geometry/)
  const text = await answer.text()
  assert.ok(text.includes('"big":9007199254740993'), text)
  const topology = JSON.parse(text)
  assert.equal(topology.type, 'Topology')
  assert.deepEqual(topology.transform.translate, [-5, -5])
  assert.equal(Math.round(topology.transform.scale[0] * 1e6), 1000)
  assert.deepEqual(Object.keys(topology.objects), ['0', '1'])
  assert.equal(topology.arcs.length, 3)
  const { type, properties } = topology.objects['0']
  assert.deepEqual([type, Object.keys(properties)], ['Polygon', ['gid', 'name', 'big']])
})

test('TopoJSON of almost 64 MB is written, and refused if it needs more memory than there is', async (t) => {
  const { user } = await setup(t)
  const texts = `select repeat('x"', 50000) as t, 12345678901234567890.5 as n, 'POINT(1 2)'::geometry as the_geom from generate_series(1, 300)`
  const answer = await ask(user, 'topojson', texts)
  const text = await answer.text()
  assert.equal(answer.status, 200)
  assert.equal(text.match(/"n":12345678901234567890.5[,}]/g)?.length, 300)
  const lines = `select st_makeline(array(select st_makepoint(random() * 360 - 180, random() * 180 - 90)
    from generate_series(1, 100000))) as the_geom from generate_series(1, 20)`
  const heavy = await ask(user, 'topojson', lines)
  assert.ok(heavy.status === 200 || heavy.status === 400, String(heavy.status))
  if (heavy.status === 400)
    assert.match(JSON.stringify(await heavy.json()), /too much memory|more than 64 MB/)
})

test('TopoJSON of more than 64 MB of rows is refused', async (t) => {
  const { user } = await setup(t)
  const large = `select repeat('x', 100000) as t, 'POINT(1 2)'::geometry as the_geom from generate_series(1, 700)`
  assert.deepEqual(await errorOf(await ask(user, 'topojson', large)), [
    400,
    'The rows cannot be written as topojson: the rows take more than 64 MB',
  ])
})

test('format=arraybuffer has names and columns as arrays, as in the classic service', async (t) => {
  const { user } = await setup(t)
  const q = `select 1 as n, 'äb' as t, 300 as big__uint16, -5 as small__int8, array[1,2] as list__uint8 union all
    select 2, 'c', 2, 3, array[3]`
  const answer = await ask(user, 'arraybuffer', q)
  assert.equal(answer.headers.get('content-type'), 'application/octet-stream')
  const bytes = Buffer.from(await answer.arrayBuffer())
  const [type, parts] = partsOf(bytes)
  assert.equal(type, 11)
  const [names, n, texts, large, small, list] = parts
  assert.deepEqual(
    [names![0], textsIn(names![1])],
    [10, ['n', 't', 'big__uint16', 'small__int8', 'list__uint8']],
  )
  assert.deepEqual([n![0], n![1].readFloatLE(0), n![1].readFloatLE(4)], [8, 1, 2])
  assert.deepEqual([texts![0], textsIn(texts![1])], [10, ['äb', 'c']])
  assert.deepEqual([large![0], large![1].readUInt16LE(0)], [5, 300])
  assert.deepEqual([small![0], small![1].readInt8(0)], [1, -5])
  const lists = split(list![1]).map(([kind, data]) => [kind, ...data])
  assert.deepEqual(
    [list![0], lists],
    [
      11,
      [
        [2, 1, 2],
        [2, 3],
      ],
    ],
  )
  assert.equal(
    (await (await ask(user, 'arraybuffer', 'select 1 as a where false')).arrayBuffer()).byteLength,
    0,
  )
  assert.deepEqual(
    await errorOf(await ask(user, 'arraybuffer', `select 'POINT(1 2)'::geometry as the_geom`)),
    [400, 'The format arraybuffer cannot hold the_geom: geometry types are not supported'],
  )
  assert.deepEqual(await errorOf(await ask(user, 'arraybuffer', 'select 300 as n__uint8')), [
    400,
    'The format arraybuffer cannot hold 300 in column n__uint8, row 1',
  ])
})

type Part = readonly [type: number, data: Buffer]

function partsOf(bytes: Buffer): readonly [number, readonly Part[]] {
  assert.equal(bytes.readUInt32BE(4), bytes.length - 8)
  return [bytes.readUInt32BE(0), split(bytes.subarray(8))]
}

/** Each part begins at a multiple of 4. */
function split(bytes: Buffer): readonly Part[] {
  const parts: Part[] = []
  for (let at = 0; at < bytes.length; ) {
    at += (4 - (at % 4)) % 4
    const size = bytes.readUInt32BE(at + 4)
    parts.push([bytes.readUInt32BE(at), bytes.subarray(at + 8, at + 8 + size)])
    at += 8 + size
  }
  return parts
}

const textsIn = (bytes: Buffer) => split(bytes).map(([, data]) => data.toString('utf16le'))
