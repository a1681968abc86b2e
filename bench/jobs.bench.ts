import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { median, medianOf, onceAPair, percentile, seconds } from './frame/measure.ts'
import { RawClient } from './frame/raw-client.ts'
import {
  emptyQueue,
  fillQueue,
  makeUsers,
  prepareJobByHand,
  prepareTables,
  runJob,
  statement,
  submitMany,
  untilIdle,
} from './jobs/job-load.ts'
import { fillHistory, middleOf, type PageTimes, pageTimes } from './jobs/list-load.ts'
import { startWorkers } from './jobs/worker-pair.ts'
import { pgbench } from './query/pgbench.ts'

const connections = 4
// For a trial: CARTAGE_BENCH_JOBS=50000 npm run bench -- jobs-list
const listedJobs = Number(process.env.CARTAGE_BENCH_JOBS ?? 1_000_000)
const noLimit = { CARTAGE_JOB_QUEUE_LIMIT: '1000000' }

export const entries: readonly Entry[] = [
  {
    name: 'jobs-submit',
    title: 'Jobs submitted per second, by 4 connections',
    baseline: 'pgbench with the INSERT of the job, 4 clients',
    unit: '1/s',
    aim: '0.1 or more',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService({ ...noLimit, CARTAGE_WORKER: 'off' })
      const users = await makeUsers(frame, service, 4)
      return {
        baseline: await insertRate(frame),
        ours: async () => 2_000 / (await submitMany(service, users, 2_000, connections)),
      }
    }),
  },
  throughput('jobs-one-user', 'one user', 1, '0.035 or more'),
  throughput('jobs-twenty-users', '20 users', 20, '0.059 (1/17, four times the classic server) or more'),
  {
    name: 'jobs-latency',
    title: 'From the POST of a job until its client knows that it is done, nothing else going on, once warm',
    baseline: 'the job written down, run and its end written down, by hand on one connection',
    unit: 'ms',
    aim: 'p50 4 ms or less and p95 8 ms or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService()
      const [user] = await makeUsers(frame, service, 1)
      await prepareTables(service, [user!])
      const byHand = await prepareJobByHand(await frame.connect(user!.database))
      const client = new RawClient(service.url)
      // A service runs for days. During the first 1,500 jobs V8 compiles their code, and p95 is half as long again.
      for (let turn = 0; turn < 2_000; turn++) await runJob(client, user!)
      const all: number[] = []
      // One at a time: how fast a process wakes up, and on which core, changes from second to second.
      const inTurns = onceAPair(async () => {
        const jobs: number[] = []
        const jobsByHand: number[] = []
        for (let turn = 0; turn < 200; turn++) {
          jobs.push(await runJob(client, user!))
          jobsByHand.push(await byHand())
        }
        all.push(...jobs)
        return { baseline: median(jobsByHand), ours: median(jobs) }
      })
      return {
        baseline: async () => (await inTurns()).baseline,
        ours: async () => (await inTurns()).ours,
        notes: () => percentilesOf(all, [50, 95, 99], 1),
      }
    }),
  },
  {
    name: 'jobs-fairness',
    title: 'The single job of a user, while another one has 10,000 waiting for the same slot',
    baseline: 'the same with no jobs waiting',
    unit: 'ms',
    aim: 'no more than one job longer',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService({ CARTAGE_JOBS_PER_WORKER: '1' })
      const users = await makeUsers(frame, service, 2)
      await prepareTables(service, users)
      const control = await frame.connect(service.namespace)
      const client = new RawClient(service.url)
      const [single, crowd] = users
      return {
        baseline: () => medianOf(20, () => runJob(client, single!)),
        ours: async () => {
          await fillQueue(control, crowd!, 10_000)
          const taken = await medianOf(20, () => runJob(client, single!))
          await emptyQueue(control, crowd!)
          return taken
        },
      }
    }),
  },
  {
    name: 'jobs-list',
    title: `A page of the list of jobs, by the slowest of 14 filters and at the slower of two places, among ${listedJobs} jobs of the account and as many of another`,
    baseline: 'the same in an account with 100 jobs',
    unit: 'ms',
    aim: '5 ms or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService({ CARTAGE_WORKER: 'off' })
      const [few, many, other] = await makeUsers(frame, service, 3)
      const control = await frame.connect(service.namespace)
      await fillHistory(control, few!, 100)
      await fillHistory(control, many!, listedJobs)
      await fillHistory(control, other!, listedJobs)
      await control.query('vacuum analyze cartage.jobs')
      await control.query('vacuum analyze cartage.job_labels')
      const [middleOfFew, middleOfMany] = [await middleOf(control, few!), await middleOf(control, many!)]
      let last: PageTimes = new Map()
      return {
        baseline: async () => slowestOf(await pageTimes(service, few!, middleOfFew)),
        ours: async () => {
          last = await pageTimes(service, many!, middleOfMany)
          return slowestOf(last)
        },
        notes: () => [...last].map(([page, taken]) => `${page} ${taken.toFixed(1)} ms`).join('; '),
      }
    }),
  },
  {
    name: 'jobs-takeover',
    title: 'From kill -9 of a worker until another one has sent the statement of its job',
    baseline: 'what is promised',
    unit: 'ms',
    aim: 'p95 under 2 s',
    pairs: 4,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService({ CARTAGE_WORKER: 'off' })
      const [user] = await makeUsers(frame, service, 1)
      const pair = await startWorkers(frame, service.namespace, 2)
      const client = new RawClient(service.url)
      const sleeping = JSON.stringify({ query: 'select pg_sleep(3600)' })
      const all: number[] = []
      return {
        baseline: async () => 15_000,
        ours: () =>
          medianOf(5, async () => {
            // A new job each time: the number of retries of one is limited.
            const { body } = await client.send('POST', `${user!.path}?${user!.query}`, sleeping)
            const { job_id } = JSON.parse(body)
            const taken = await pair.killHolder()
            await client.send('DELETE', `${user!.path}/${job_id}?${user!.query}`)
            all.push(taken)
            return taken
          }),
        notes: () => percentilesOf(all, [50, 95, 100], 0),
      }
    }),
  },
]

const slowestOf = (times: PageTimes) => Math.max(...times.values())

function throughput(name: string, who: string, count: number, aim: string): Entry {
  const jobs = count === 1 ? 1_500 : 3_000
  return {
    name,
    title: `Trivial jobs per second of ${who}, from the first POST to the last one done`,
    baseline: 'pgbench with the INSERT of the job, 4 clients',
    unit: '1/s',
    aim,
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService(noLimit)
      const users = await makeUsers(frame, service, count)
      await prepareTables(service, users)
      const control = await frame.connect(service.namespace)
      return {
        baseline: await insertRate(frame),
        ours: async () => {
          const taken = await seconds(async () => {
            await submitMany(service, users, jobs, connections)
            await untilIdle(control)
          })
          return jobs / taken
        },
      }
    }),
  }
}

async function insertRate(frame: Frame): Promise<() => Promise<number>> {
  const client = await frame.connect()
  await client.query('create table b (id serial primary key, v text)')
  const bench = await pgbench(frame, statement, 'postgres', connections)
  return () => bench(3)
}

function percentilesOf(values: readonly number[], percents: readonly number[], digits: number): string {
  return percents.map((percent) => `p${percent} ${percentile(values, percent).toFixed(digits)} ms`).join(', ')
}
