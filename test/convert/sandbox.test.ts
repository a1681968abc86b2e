import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findGdal, onlyDrivers, registeredDrivers } from '../../src/convert/gdal.ts'
import { type ConverterEnd, runConverter } from '../../src/convert/run-converter.ts'
import { type ConverterLimits, findSandbox, type SandboxKind } from '../../src/convert/sandbox.ts'
import { eventually } from '../support/service/setup.ts'

const kinds = ['bubblewrap', 'unshare'] as const
const limits = { timeMs: 20_000, cpuSeconds: 20, memoryBytes: 2 ** 31, fileBytes: 2 ** 20 }

test('the best sandbox of this machine is chosen', async () => {
  assert.equal(await findSandbox(), 'bubblewrap')
})

for (const kind of kinds) {
  test(`${kind}: a program sees the system's libraries and one directory, and writes only there`, async (t) => {
    const { shell, directory } = await setup(t, kind)
    const places = await shell('pwd; ls /; touch /x /usr/x /dev/x /etc/x; echo here > made')
    assert.deepEqual(
      places.stdout.split('\n').filter((place) => !/^(lib|sbin|bin)/.test(place)),
      ['/work', 'dev', 'etc', 'usr', 'work', ''],
    )
    assert.equal(places.stderr.match(/Read-only file system|Permission denied/g)?.length, 4, places.stderr)
    assert.equal(await readFile(join(directory, 'made'), 'utf8'), 'here\n')
    assert.equal((await shell('cat /etc/passwd /etc/shadow /proc/1/environ')).stdout, '')
  })

  test(`${kind}: a program has no environment, no network and no other process`, async (t) => {
    const { shell } = await setup(t, kind)
    assert.deepEqual(
      (await shell('/usr/bin/env')).stdout.split('\n').filter((line) => !/^(PWD=\/work)?$/.test(line)),
      [],
    )
    const { port, accepted } = await listen(t)
    const asked = await shell(`exec 3<>/dev/tcp/127.0.0.1/${port}`, '/usr/bin/bash')
    assert.notEqual(asked.exitCode, 0)
    assert.equal(accepted(), 0)
    assert.notEqual((await shell(`kill -0 ${process.pid}`)).exitCode, 0)
    assert.match((await shell('kill -0 $$ && echo $$')).stdout, /^\d\n$/)
  })

  test(`${kind}: limits of time, CPU, memory and file size end a program`, async (t) => {
    const { shell } = await setup(t, kind)
    const late = await shell('sleep 60 & sleep 60', '/bin/sh', { timeMs: 300 })
    assert.equal(late.stopped, 'time')
    const busy = await shell('while :; do :; done', '/bin/sh', { cpuSeconds: 1 })
    assert.notEqual(busy.exitCode, 0)
    assert.equal(busy.stopped, undefined)
    const greedy = await shell('x=$(head -c 300000000 /dev/zero | tr "\\0" x); echo $x | wc -c', '/bin/sh', {
      memoryBytes: 100_000_000,
    })
    assert.notEqual(greedy.exitCode, 0)
    const big = await shell('head -c 3000000 /dev/zero > big; ls -l big')
    assert.match(big.stdout, / 1048576 /)
  })

  test(`${kind}: a program and its children end when their caller disconnects or dies`, async (t) => {
    const { shell, directory } = await setup(t, kind)
    const leave = new AbortController()
    setTimeout(() => leave.abort(), 200)
    const ended = await shell('setsid sleep 4711 & sleep 4711', '/bin/sh', {}, leave.signal)
    assert.equal(ended.stopped, 'caller')
    await eventually(async () => assert.equal(sleepers('4711'), 0))

    const script = `import { runConverter } from ${JSON.stringify(join(import.meta.dirname, '../../src/convert/run-converter.ts'))}
      runConverter('${kind}', { program: '/bin/sh', args: ['-c', 'sleep 4712 & sleep 4712'],
        directory: ${JSON.stringify(directory)}, limits: ${JSON.stringify(limits)} })
      console.log('started')`
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
    await new Promise((resolve) => parent.stdout.once('data', resolve))
    await eventually(async () => assert.equal(sleepers('4712'), 2))
    parent.kill('SIGKILL')
    await eventually(async () => assert.equal(sleepers('4712'), 0))
  })
}

test('a program that cannot start, or does not read its input, ends like any other', async (t) => {
  const { directory, shell } = await setup(t, 'none')
  const run = runConverter('none', { program: '/nowhere', args: [], directory, limits })
  run.stdout.resume()
  assert.equal((await run.ended).exitCode, 127)
  assert.equal((await shell('exec 0<&-; sleep 0.1; exit 3')).exitCode, 3)
})

test('GDAL has only the two drivers that it is given', async () => {
  const gdal = await findGdal()
  assert.ok(gdal, 'gdal-bin is installed')
  assert.ok(gdal.drivers.length > 50)
  for (const driver of ['GPKG', 'ESRI Shapefile', 'LIBKML', 'MapInfo File']) {
    assert.deepEqual(
      await registeredDrivers(gdal, onlyDrivers(gdal, [driver, 'PGDUMP'])),
      [driver, 'PGDUMP'].sort(),
    )
  }
})

async function setup(t: TestContext, kind: SandboxKind) {
  const directory = await mkdtemp(join(tmpdir(), 'cartage-sandbox-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const shell = async (
    text: string,
    program = '/bin/sh',
    own: Partial<ConverterLimits> = {},
    signal?: AbortSignal,
  ): Promise<ConverterEnd & { stdout: string }> => {
    const command = { program, args: ['-c', text], directory, limits: { ...limits, ...own } }
    const run = runConverter(kind, command, signal)
    run.stdin.end()
    let stdout = ''
    for await (const chunk of run.stdout) stdout += chunk
    return { ...(await run.ended), stdout }
  }
  return { shell, directory }
}

async function listen(t: TestContext) {
  let count = 0
  const server = createServer((socket) => {
    count++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { port: (server.address() as { port: number }).port, accepted: () => count }
}

const sleepers = (seconds: string) =>
  Number(spawnSync('pgrep', ['-cfx', `sleep ${seconds}`], { encoding: 'utf8' }).stdout)
