import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { meetsAim } from '../bench/frame/aim.ts'
import type { Entry, Result } from '../bench/frame/entry.ts'
import { describeUse, limitOf } from '../bench/frame/limit.ts'
import { measure, seconds } from '../bench/frame/measure.ts'
import { measurements, readResults, summary } from '../bench/frame/report.ts'
import { ResourceSampler, type ResourceUse, type Watched } from '../bench/frame/resource-use.ts'

test('an aim is met or missed by the ratio, by the median, or by a percentile', async () => {
  const verdict = async (changes: Partial<Result>) => meetsAim(await someResult(changes))
  assert.equal(await verdict({ aim: '1.0 or less', ratio: 1.007 }), false)
  assert.equal(await verdict({ aim: '0.33 (1/3) or more', ratio: 0.335 }), true)
  assert.equal(await verdict({ aim: 'below 3 s in all', unit: 's', oursMedian: 1.08 }), true)
  assert.equal(await verdict({ aim: 'under 50 ms on an idle machine', unit: 'ms', oursMedian: 51 }), false)
  assert.equal(await verdict({ aim: 'under 30 MB', unit: 'MB', oursMedian: 31 }), false)
  assert.equal(await verdict({ aim: '110 MB or less', unit: 'MB', oursMedian: 109 }), true)
  assert.equal(await verdict({ aim: '0.7 s or less', unit: 's', oursMedian: 0.71 }), false)
  assert.equal(await verdict({ aim: 'p50 under 6 ms', notes: 'p50 8.2 ms, p95 17.2 ms' }), false)
  assert.equal(await verdict({ aim: 'p95 under 2 s', notes: 'p50 1045 ms, p95 1420 ms' }), true)
  const both = 'p50 4 ms or less and p95 8 ms or less'
  assert.equal(await verdict({ aim: both, notes: 'p50 3.9 ms, p95 7.9 ms' }), true)
  assert.equal(await verdict({ aim: both, notes: 'p50 3.9 ms, p95 8.1 ms' }), false)
  assert.equal(await verdict({ aim: 'as much more as the machine has cores for' }), undefined)
})

test('a run whose pairs differ too much says so instead of giving a figure', async () => {
  const calm = await someResult({ ratio: 0.87, ratioMin: 0.8, ratioMax: 1.2, aim: '1 or less' })
  assert.match(summary([calm]), /\*\*0\.87\*\* \| 0\.80 to 1\.20 \| 1 or less \| met/)
  assert.match(measurements([calm]), /\| 0\.870 \|/)

  const noisy = { ...calm, ratioMax: 1.21 }
  assert.match(summary([noisy]), /too noisy \| 0\.80 to 1\.21 \| 1 or less \| {2}\|/)
  assert.match(measurements([noisy]), /\| {2}\| {2}\| too noisy \|/)
})

test('the limit is what uses a CPU all the time, else the disk, else what the others wait for', () => {
  const idle: ResourceUse = {
    service: { all: 0.1, busiest: 0.1 },
    postgres: { all: 0.1, busiest: 0.1 },
    client: { all: 0.1, busiest: 0.1 },
    disk: 0,
    cores: 2,
  }
  const limit = (changes: Partial<ResourceUse>) => limitOf({ ...idle, ...changes })
  assert.match(limit({ postgres: { all: 0.95, busiest: 0.93 } }), /^a core: one backend of PostgreSQL$/)
  assert.match(limit({ service: { all: 1.2, busiest: 0.97 } }), /^a core: one thread of the service$/)
  const shared = { all: 1.6, busiest: 0.4 }
  assert.match(limit({ service: shared }), /^all cores, most of it the service$/)
  assert.match(limit({ disk: 0.8 }), /^the disk$/)
  assert.match(limit({ postgres: { all: 0.5, busiest: 0.2 } }), /^turns: .*for PostgreSQL$/)
})

test('the CPU time of the service, of PostgreSQL and of the client is reported separately', async (t) => {
  const service = await startBusyProcess(t)
  const postgres = await startBusyProcess(t)
  const watched = { service: [service.pid!], postgres: [postgres.pid!] }
  const { use, wallSeconds } = await sample(watched, async () => {
    service.stdin.write('work\n')
    await once(service.stdout, 'data')
  })
  assert.ok(use.service.busiest * wallSeconds > 0.4, describeUse(use))
  assert.ok(use.service.all >= use.service.busiest, describeUse(use))
  assert.ok(use.postgres.all * wallSeconds < 0.1, describeUse(use))
  assert.ok(use.client.all < use.service.all, describeUse(use))
})

test("CPU time of a command that has ended meanwhile counts as the client's", async () => {
  const { use, wallSeconds } = await sample({ service: [], postgres: [] }, async () => {
    await once(spawn(process.execPath, ['-e', burn]), 'exit')
  })
  assert.ok(use.client.all * wallSeconds > 0.4, describeUse(use))
})

test('a measured entry has its CPU use, and a limit that it states itself comes first', async () => {
  const entry = await someEntry(async () => 1)
  const { use, limit } = await measure(entry)
  assert.ok(use)
  assert.equal(limit, 'the patience of the reader')
  assert.match(summary([await measure(entry)]), /\| the patience of the reader \|\n?$/)
})

test('a pair in slices is their mean, and its slices are measured in turns', async () => {
  const order: string[] = []
  const counted = (name: string) => async () => order.push(name)
  const entry = await someEntry(async () => 0)
  const { baselineMedian, oursMedian } = await measure({
    ...entry,
    slices: 3,
    prepare: async () => ({
      ...(await entry.prepare()),
      baseline: counted('baseline'),
      ours: counted('ours'),
    }),
  })
  const [, , ...counts] = order
  assert.deepEqual(counts, ['ours', 'baseline', 'baseline', 'ours', 'ours', 'baseline'])
  // The first two are those of the pair that warms up.
  assert.deepEqual([oursMedian, baselineMedian], [(3 + 6 + 7) / 3, (4 + 5 + 8) / 3])
})

async function someEntry(measured: () => Promise<number>): Promise<Entry> {
  const tearDown = async () => {}
  return {
    ...(await someResult({})),
    pairs: 1,
    prepare: async () => ({
      baseline: measured,
      ours: measured,
      tearDown,
      limit: 'the patience of the reader',
    }),
  }
}

async function someResult(changes: Partial<Result>): Promise<Result> {
  const [some] = await readResults()
  return { ...some!, ...changes }
}

async function sample(watched: Watched, work: () => Promise<unknown>) {
  const sampler = new ResourceSampler(() => watched)
  const wallSeconds = await seconds(() => sampler.during(work))
  return { use: sampler.use(), wallSeconds }
}

/** Works for a while on request, then says so. */
async function startBusyProcess(t: TestContext) {
  const script = `process.stdin.on('data', () => { ${burn}; console.log('done') }); console.log('ready')`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(async () => {
    child.kill()
    await once(child, 'exit')
  })
  await once(child.stdout, 'data')
  return child
}

/** At least half a second on the CPU, whatever else the machine does. */
const burn = `
  const used = () => process.cpuUsage().user + process.cpuUsage().system
  for (const end = used() + 5e5; used() < end; ) for (let turn = 0; turn < 1e6; turn++) Math.random()`
