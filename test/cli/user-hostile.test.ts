import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

const evil = '\x1b]0;pwn\x07\u009b2J\u202e\r'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const steers = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]|\r(?!\r?\n)/

test('no value, name, argument or file sends control sequences to a terminal; in a pipe every byte is exact', async (t) => {
  const me = connection(await setup(t, { worker: true }))
  const query = `select U&'${escaped(evil)}' as "x${evil.replace('\r', '')}"`
  const folder = await mkdtemp(join(tmpdir(), 'cli-'))
  const file = join(folder, `a${evil}.csv`)
  await writeFile(file, 'a,b\n1,2\n')
  const calls = [
    ...['csv', 'tsv', 'markdown', 'ndjson', 'table'].map((format) => ['sql', query, '--format', format]),
    ['export', query],
    ['copy', 'to', `copy (${query}) to stdout`, '-'],
    ['import', file, '--dry-run'],
    ['job', 'run', `select 1 as "${evil}" from "nothing${evil}"`],
  ]
  const terminal = inTerminal(t, me, calls.map((call) => shellLine(...call)).join('; '))
  await terminal.ended
  assert.ok(terminal.shown().split('pwn').length > calls.length, terminal.shown())
  // The live view of a job redraws its lines.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
  const shown = terminal.shown().replace(/\r?\x1b\[(K|\d+A)/g, '')
  assert.doesNotMatch(shown, steers)
  const { out } = await cartage(me, 'sql', query, '--format', 'csv')
  assert.ok(out.includes(evil), JSON.stringify(out))
})

test('no command prints control sequences in names of tables, columns and keys, notices or errors', async (t) => {
  const house = await setup(t, { worker: true })
  const me = connection(house)
  const name = evil.replace('\r', '')
  await house.user.sql(`create table "pwn${name}" ("pwn${name}" text default 'pwn${name}');
    comment on column "pwn${name}"."pwn${name}" is 'pwn${name}'`)
  const notice = `do $$ begin raise notice 'pwn${name}'; raise exception 'pwn${name}' using detail = 'pwn${name}', hint = 'pwn${name}'; end $$`
  const table = `"pwn${name}"`
  const calls = [
    ['table', 'list'],
    ['table', 'list', '--json'],
    ['table', 'show', table],
    ['table', 'show', table, '--json'],
    ['table', 'public', table],
    ['table', 'prepare', table],
    ['key', 'create', `pwn\u202e`, '--read', table],
    ['key', 'list'],
    ['key', 'show', `pwn\u202e`],
    ['key', 'show', `pwn\u202e`, '--json'],
    ['key', 'can', `pwn\u202e`],
    ['sql', notice],
    ['sql', `select 1 as "pwn${name}"`, '--explain'],
    ['job', 'run', notice],
    ['job', 'list'],
    ['export', table],
    ['__complete', 'table', 'show', 'pwn'],
    ['__complete', 'key', 'show', 'pwn'],
  ]
  const terminal = inTerminal(t, me, calls.map((call) => shellLine(...call)).join('; '))
  await terminal.ended
  assert.ok(terminal.shown().split('pwn').length > 20, terminal.shown())
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
  assert.doesNotMatch(terminal.shown().replace(/\r?\x1b\[(K|\d+A)/g, ''), steers)
})

test('in the SQL shell the Tab key offers only names that can be typed', async (t) => {
  const house = await setup(t)
  await house.user.sql(`create table "pwn${evil.replace('\r', '')}" (pwned_a int, pwned_b int)`)
  const terminal = inTerminal(t, connection(house), shellLine('sql'))
  await eventually(() => assert.match(terminal.shown(), /=> /), 60_000)
  // Before the names are loaded, Tab offers nothing; a Tab that arrives together with text is text.
  await eventually(async () => {
    terminal.type('\x15pwn')
    await eventually(() => assert.match(terminal.shown(), /pwn$/), 5_000)
    terminal.type('\t')
    await eventually(() => assert.match(terminal.shown(), /pwned_$/), 2_000)
    terminal.type('\t')
    await eventually(() => assert.match(terminal.shown(), /pwned_a +pwned_b/), 2_000)
  }, 60_000)
  terminal.type('\x15\\q\r')
  await terminal.ended
  assert.doesNotMatch(terminal.shown(), /\]0;/)
})

test('messages about wrong calls and files are harmless in a log too', async () => {
  const me = { CARTAGE_URL: 'http://127.0.0.1:9', CARTAGE_USER: 'a', CARTAGE_API_KEY: 'b' }
  const calls = [
    [evil],
    ['sql', '1', '--format', evil],
    ['use', evil],
    ['help', evil],
    ['sql', '1', '--profile', evil],
  ]
  for (const call of [...calls, ['sql', '-f', evil], ['completion', evil], ['sql', '1', '--url', evil]]) {
    const { code, err } = await cartage(me, ...call)
    assert.ok(code > 0 && err.startsWith('error: '), err)
    assert.doesNotMatch(err, steers)
  }
})

test("a line of an error's detail cannot look like a line of the command", async (t) => {
  const { err } = await cartage(
    connection(await setup(t)),
    'sql',
    "do $$ begin raise exception E'a\\nb' using detail = E'c\\nhint: d'; end $$",
  )
  assert.ok(err.startsWith('error: a\n  b\ndetail: c\n  hint: d\n'), err)
})

test('a file is written under a new name, whatever exists under the old one', async (t) => {
  const me = connection(await setup(t))
  const folder = await mkdtemp(join(tmpdir(), 'cli-'))
  const victim = join(folder, 'victim')
  await writeFile(victim, 'precious')
  await symlink(victim, join(folder, 'x.csv.part'))
  assert.equal((await cartage(me, 'export', 'select 1 as a', '-o', join(folder, 'x.csv'))).code, 0)
  assert.equal(await readFile(join(folder, 'x.csv'), 'utf8'), 'a\n1\n')
  assert.equal(await readFile(victim, 'utf8'), 'precious')
  assert.deepEqual((await readdir(folder)).sort(), ['victim', 'x.csv', 'x.csv.part'])
})

test('an overwritten file keeps its permissions, and a new one has the default', async (t) => {
  const me = connection(await setup(t))
  const folder = await mkdtemp(join(tmpdir(), 'cli-'))
  const file = join(folder, 'x.csv')
  for (const mode of [0o600, 0o640, 0o666]) {
    await writeFile(file, 'old')
    await chmod(file, mode)
    assert.equal((await cartage(me, 'export', 'select 1 as a', '-o', file)).code, 0)
    assert.equal(await readFile(file, 'utf8'), 'a\n1\n')
    assert.equal((await stat(file)).mode & 0o777, mode)
  }
  const fresh = join(folder, 'fresh.csv')
  assert.equal((await cartage(me, 'sql', 'select 1 as a', '--format', 'csv', '-o', fresh)).code, 0)
  assert.equal((await stat(fresh)).mode & 0o777, 0o666 & ~process.umask())
})

test('invalid coordinates are reported with the number of their feature', async () => {
  const me = { CARTAGE_URL: 'http://127.0.0.1:9', CARTAGE_USER: 'a', CARTAGE_API_KEY: 'b' }
  const folder = await mkdtemp(join(tmpdir(), 'cli-'))
  const good = { type: 'Point', coordinates: [1, 2] }
  const bad = [
    { type: 'Polygon', coordinates: [[['a', 1]]] },
    { type: 'Point', coordinates: ['1', 2] },
    { type: 'Point', coordinates: { x: 1 } },
    { type: 'LineString', coordinates: [1, [2, 3]] },
    { type: 'MultiPoint', coordinates: [[1]] },
    { type: 7, coordinates: [1, 2] },
    { type: 'GeometryCollection', geometries: [null] },
    { type: 'GeometryCollection', geometries: 7 },
    'POINT(1 2)',
  ]
  for (const geometry of bad) {
    const features = [good, geometry].map((each) => ({ type: 'Feature', geometry: each, properties: {} }))
    const file = join(folder, 'bad.geojson')
    await writeFile(file, JSON.stringify({ type: 'FeatureCollection', features }))
    const { code, err } = await cartage(me, 'import', file, '--dry-run')
    assert.equal(code, 1, err)
    assert.match(
      err,
      /^error: .*bad\.geojson: Feature 2 has no geometry that can be read: /,
      JSON.stringify(geometry),
    )
    assert.equal(err.trim().split('\n').length, 1, err)
  }
})

test('an answer that is not from the service is an error, and so is a full disk', async (t) => {
  for (const answer of ['{}', 'null']) {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer))
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const me = { CARTAGE_URL: url, CARTAGE_USER: 'a', CARTAGE_API_KEY: 'b' }
    const calls = [
      'whoami',
      'table list',
      'key list',
      'key show x',
      'key set x --description y',
      'job list',
      'job again x',
      'schedule list',
      'schedule show x',
      'schedule runs x',
      'schedule run x',
      'schedule pause x',
      'query list',
      'history',
      'query show x',
      'map list',
      'map show x',
      'map share x',
      'export x --link',
      'job run x',
      'job status x',
      'key token x',
      'sql x',
      'sql x --json',
    ]
    for (const call of calls) {
      const { code, out, err } = await cartage(me, ...call.split(' '))
      assert.deepEqual([code, out], [1, ''], `${call}: ${answer}: ${err}`)
      // The sender of a job is told how to repeat it.
      assert.match(err, /^(to send it again .*\n)?error: The (answer|service) .*\n$/, call)
    }
  }
  const full = inTerminal(
    t,
    connection(await setup(t)),
    `${shellLine('sql', 'select 1', '--no-progress')} > /dev/full`,
  )
  assert.equal(await full.ended, 1)
  assert.match(full.shown(), /^error: .*ENOSPC[^\n]*\r\n$/)
})

const escaped = (text: string) =>
  [...text].map((character) => `\\${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

test('a missing, empty or broken file, a folder and a pipe give a sentence, never a stack trace', async () => {
  const me = { CARTAGE_URL: 'http://127.0.0.1:9', CARTAGE_USER: 'a', CARTAGE_API_KEY: 'b' }
  const folder = await mkdtemp(join(tmpdir(), 'files-'))
  const file = async (name: string, content: string | Uint8Array) => {
    await writeFile(join(folder, name), content)
    return join(folder, name)
  }
  const none = join(folder, 'none')
  const whole = gzipSync(Buffer.from('a,b\n'.repeat(200_000)), { level: 0 })
  const isFolder = `${folder} is a folder, not a file`
  const calls: [text: string, ...call: string[]][] = [
    [`${none}: no such file or directory`, 'import', none],
    [`${none}: no such file or directory`, 'sql', '-f', none],
    [`${none}: no such file or directory`, 'copy', 'from', 'copy t from stdin', none],
    [isFolder, 'import', folder],
    [isFolder, 'sql', '-f', folder],
    [isFolder, 'job', 'run', '-f', folder],
    [isFolder, 'key', 'create', 'k', '--grants', folder],
    [isFolder, 'copy', 'from', 'copy t from stdin', folder],
  ]
  const empty = await file('empty.csv', '')
  const names = await file('names.csv', 'id,name\n')
  const notGzip = await file('not.csv.gz', 'this is no gzip')
  const torn = await file('torn.csv.gz', whole.subarray(0, 500_000))
  calls.push([`${empty} is empty`, 'import', empty], [`${names} has no rows`, 'import', names])
  for (const [path, reason] of [
    [notGzip, 'incorrect header check'],
    [torn, 'unexpected end of file'],
  ] as const)
    calls.push([`${path} is not a complete gzip file: ${reason}`, 'import', path])
  for (const [text, ...call] of calls) {
    const { code, err } = await cartage(me, ...call)
    assert.deepEqual([code, err], [1, `error: ${text}\n`], call.join(' '))
  }
  const pipe = await cartage(me, 'import', '/dev/stdin', 't')
  assert.equal(pipe.code, 2)
  assert.match(pipe.err, /^error: \/dev\/stdin can be read only once, .*\n$/)
})
