import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { circles, makeMap, templateOf, writeMap } from '../support/maps/named-api.ts'
import { basic, setup } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

const style = (...layers: unknown[]) => ({ style: layers })
const legend = (item: object) => ({ legend: [{ items: [{ label: 'a', color: 'red', ...item }] }] })
const painted = (paint: object) => style(circles({ paint }))

const faults = [
  [5, /^view: must be an object$/],
  [{ title: 5 }, /^view\.title: must be text of at most 200 characters$/],
  [{ title: 'x'.repeat(201) }, /^view\.title: /],
  [{ description: [] }, /^view\.description: /],
  [{ zoom: 'near' }, /^view\.zoom: must be a number from 0 to 30$/],
  [{ center: { lng: 0 } }, /^view\.center\.lat: /],
  [{ bounds: { west: 0, south: 0, east: 1, north: 91 } }, /^view\.bounds\.north: /],
  [{ popup: { streets: ['name'] } }, /^view\.popup\.streets: is no layer of the map$/],
  [{ popup: { places: [5] } }, /^view\.popup\.places\[0\]: /],
  [{ legend: {} }, /^view\.legend: must be a list/],
  [legend({ color: 'url(https://evil.example/x)' }), /^view\.legend\[0\]\.items\[0\]\.color: /],
  [legend({ shape: 'star' }), /^view\.legend\[0\]\.items\[0\]\.shape: /],
  [{ style: {} }, /^view\.style: must be a list of at most 100 layers/],
  [style(5), /^view\.style\[0\]: must be a layer/],
  [style(circles({ id: 'basemap:land' })), /^view\.style\[0\]\.id: must not begin with basemap:$/],
  [
    style(circles({ source: 'roads' })),
    /^view\.style\[0\]\.source: must be the id of a layer of the map: places$/,
  ],
  [
    style(circles({ source: { type: 'raster', tiles: ['https://evil.example'] } })),
    /^view\.style\[0\]\.source: /,
  ],
  [
    style(circles({ 'source-layer': 'secret' })),
    /^view\.style\[0\]\.source-layer: must be the same as source$/,
  ],
  [style(circles({ type: 'raster' })), /^view\.style\[0\]: layer "dots" requires a raster source$/],
  [style(circles(), circles()), /^view\.style\[1\]: duplicate layer id "dots"/],
  [painted({ 'circle-color': 'no colour' }), /^view\.style\[0\]\.paint\.circle-color: color expected/],
  [painted({ 'circle-colour': 'red' }), /^view\.style\[0\]\.paint\.circle-colour: unknown property/],
  [
    painted({ 'circle-radius': ['run', 'x'] }),
    /^view\.style\[0\]\.paint\.circle-radius: number expected, array found/,
  ],
  [style(circles({ onclick: 'alert(1)' })), /^view\.style\[0\]\.onclick: is unknown$/],
  [
    style(circles({ metadata: { a: ['https://evil.example/x.js'] } })),
    /^view\.style\[0\]\.metadata\.a\[0\]: must not be an address$/,
  ],
  [style(circles({ metadata: { a: ' JavaScript:alert(1)' } })), /must not be an address$/],
  [
    style(circles({ type: 'symbol', layout: { 'icon-image': '//evil.example/a.png' }, paint: {} })),
    /icon-image: must not be an address$/,
  ],
  [
    style(circles({ paint: { 'circle-color': 'red', 'fill-pattern': 'https://evil.example' } })),
    /fill-pattern: /,
  ],
  [
    { basemap: 'https://tiles.example/{z}/{x}/{y}.png' },
    /^view\.basemap: must be world, none or an address that this server allows$/,
  ],
] as const

test('an invalid view is refused with the place of the error', async (t) => {
  const { user } = await setup(t)
  for (const [view, text] of faults) {
    const { status, body } = await writeMap(user, templateOf('t', view as never))
    assert.equal(status, 400, JSON.stringify(view))
    assert.match(body.errors[0]!, text)
  }
  assert.deepEqual((await askMaps(user, '/api/v1/map/named')).body, { template_ids: [] })
})

test('a view is stored as it was sent, with the members of the classic API', async (t) => {
  const basemap = 'https://tiles.example/{z}/{x}/{y}.png'
  const { user } = await setup(t, { config: { mapBasemaps: [{ address: basemap, attribution: '' }] } })
  const view = {
    title: 'Places',
    description: 'All of them',
    style: [circles(), { id: 'paper', type: 'background', paint: { 'background-color': '#fff' } }],
    basemap,
    popup: { places: ['name'] },
    legend: [{ title: 'Size', items: [{ label: 'small', color: 'rgb(1, 2, 3)', shape: 'point' as const }] }],
    zoom: 3,
    center: { lng: 1, lat: 2 },
    bounds: { west: -1, south: -2, east: 3, north: 4 },
    preview_layers: { 0: true },
  }
  await makeMap(user, templateOf('t', view))
  const { body } = await askMaps(user, '/api/v1/map/named/t')
  assert.deepEqual((body.template as { view: unknown }).view, view)
})

test('a style may compare values with URLs', async (t) => {
  const { user } = await setup(t)
  const site = ['match', ['get', 'site'], 'https://a.example', 'red', '//b.example', 'green', 'blue']
  const filter = ['!=', ['get', 'site'], 'data:none']
  await makeMap(user, templateOf('t', { style: [circles({ filter, paint: { 'circle-color': site } })] }))
})

test('a layer of a map with a view must not have the id of a source of the basemap', async (t) => {
  const { user } = await setup(t)
  const layers = ['places', 'basemap:source'].map((id) => ({
    id,
    options: { sql: 'select * from places' },
  }))
  for (const view of [{ style: [circles()] }, { title: 'Places' }]) {
    const { status, body } = await writeMap(user, templateOf('t', view, { layergroup: { layers } }))
    assert.deepEqual([status, body.errors], [400, ['layergroup.layers[1].id: must not begin with basemap:']])
  }
})

test('a style that takes hours or all memory to check is refused, and other requests do not wait', async (t) => {
  const { user } = await setup(t)
  const radius = (expression: unknown) =>
    templateOf('t', { style: [circles({ paint: { 'circle-radius': expression } })] })
  const tripled = (text: string) => {
    const levels = 20
    const next = (at: number): unknown =>
      at > levels
        ? ['length', ['var', `v${levels}`]]
        : [
            'let',
            `v${at}`,
            ['concat', ...Array.from({ length: 3 }, () => ['var', `v${at - 1}`])],
            next(at + 1),
          ]
    return ['let', 'v0', text, next(1)]
  }
  const deep = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => ['-', inner], 1)
  const send = async (body: string, what: string) => {
    const headers = { ...basic(user.username, user.masterToken), 'content-type': 'application/json' }
    const answer = await fetch(`${user.base}/api/v1/map/named`, { method: 'POST', headers, body })
    const text = await answer.text()
    assert.equal(answer.status, what === 'ten megabytes' ? 413 : 400, `${what}: ${text}`)
    return text.slice(0, 100)
  }
  const attacks: Readonly<Record<string, unknown>> = {
    'text that triples': radius(tripled('x'.repeat(64))),
    'a list that grows': radius([
      'length',
      [
        'join',
        ['split', ['join', ['split', 'x'.repeat(9_000), ''], 'y'.repeat(9_000)], ''],
        'z'.repeat(9_000),
      ],
    ]),
    'a search in native code': radius([
      'index-of',
      `ab${'a'.repeat(40_000)}`,
      ['join', ['split', 'a'.repeat(6_000), ''], 'a'.repeat(6_000)],
    ]),
    'deep nesting': radius(deep(40)),
    'deeper nesting': radius(deep(1_000)),
    'a long expression': radius(['+', ...Array.from({ length: 50_000 }, () => 1)]),
    'ten megabytes': radius(['+', 'x'.repeat(10_000_000)]),
  }
  for (const [what, template] of Object.entries(attacks)) {
    const sent = JSON.stringify(template)
    const turns: number[] = []
    // 50 ms on an idle machine. Checking it in this process would take seconds.
    while (turns.length < 5 && !(turns.at(-1)! < 50)) turns.push(await longestTurn(() => send(sent, what)))
    t.diagnostic(`${what}: ${await send(sent, what)}, longest turn ${turns.at(-1)!.toFixed(0)} ms`)
    assert.ok(turns.at(-1)! < 250, `${what}: the event loop stood still for ${turns.join(', ')} ms`)
  }
  await makeMap(user, radius(['*', 2, ['to-number', ['get', 'size']]]) as never)
})

test('the SQL of a map is parsed once for all viewers, layer by layer', async (t) => {
  const { user } = await setup(t)
  const numbers = Array.from({ length: 2_000 }, (_, at) => at % 10).join()
  const layers = Array.from({ length: 20 }, (_, at) => ({
    id: `l${at}`,
    options: { sql: `select * from places where ${at} in (${numbers})` },
  }))
  const view = { popup: { l0: ['name'] }, center: { lng: 0, lat: 0 }, zoom: 1 }
  const look = async () => {
    const answers = ['', '.json'].map((ending) => fetch(`${user.base}/map/t${ending}`))
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.status, 200)
      await answer.text()
    }
  }
  const measured = async (work: () => Promise<unknown>) => {
    const since = performance.now()
    const turnMs = await longestTurn(work)
    return { turnMs, ms: performance.now() - since }
  }
  const written = await measured(() => makeMap(user, templateOf('t', view, { layergroup: { layers } })))
  const first = await measured(look)
  const next = await measured(async () => {
    for (let times = 0; times < 5; times++) await look()
  })
  t.diagnostic(JSON.stringify({ written, first, next }))
  for (const { turnMs, ms } of [written, first]) assert.ok(turnMs < ms / 3, `${turnMs} of ${ms} ms`)
  assert.ok(next.ms < first.ms, `${next.ms} ms for five, ${first.ms} ms for the first`)
})

/** In milliseconds. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await work()
  delay.disable()
  return delay.max / 1e6
}
