import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { median, seconds } from './frame/measure.ts'
import { processUse } from './frame/process-use.ts'
import { RawClient } from './frame/raw-client.ts'
import { type RunningService, secret, spawnService } from './frame/service.ts'
import { type JobUser, makeUsers, prepareTables, runJob, submitMany } from './jobs/job-load.ts'
import { makeCrowd, makeHistory, memberName, memberToken, organization } from './scale/crowd.ts'

const members = 10_000
const finishedJobs = 1_000_000
const fewMembers = 200
const few = `the same service with ${fewMembers} users and no jobs behind it`

export const entries: readonly Entry[] = [
  compare('scale-submit', 'Jobs submitted per second', '1/s', '0.8 or more', async ({ service, users }) => {
    return 1_000 / (await submitMany(service, users, 1_000, 4))
  }),
  compare('scale-read', 'Jobs read per second', '1/s', '0.8 or more', async ({ service, users }) => {
    const client = new RawClient(service.url)
    const [user] = users as [JobUser]
    const { body } = await client.send('POST', `${user.path}?${user.query}`, '{"query":"select 1"}')
    const { job_id } = JSON.parse(body) as { job_id: string }
    const reads = 1_000
    const taken = await seconds(async () => {
      for (let n = 0; n < reads; n++) await client.send('GET', `${user.path}/${job_id}?${user.query}`)
    })
    client.close()
    return reads / taken
  }),
  compare('scale-claim', 'From the submission of a job to its end', 'ms', '1.25 or less', runJobs, 'on'),
  {
    name: 'scale-member',
    title: `Creating a member of an organization with ${members} members`,
    baseline: 'the same with 10 members',
    unit: 'ms',
    aim: '1.5 or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const small = await startNode(frame, 'off', 10, 0)
      const large = await startNode(frame, 'off', members, 0)
      return { baseline: () => createMembers(small), ours: () => createMembers(large) }
    }),
  },
  compare(
    'scale-login',
    'The first SQL of a user in a while, by 200 users in turn',
    'ms',
    '2 or less',
    firstQueries,
  ),
  compare('scale-start', 'From a stopped process to a ready one', 's', '1.25 or less', startAgain),
]

type Node = Readonly<{
  service: RunningService & { namespace: string }
  users: readonly JobUser[]
  /** Of another process on the same databases. */
  env: Readonly<Record<string, string>>
}>

/** Ours: 10,000 users and a million finished jobs. Baseline: the same with almost no users. Both on one cluster. */
function compare(
  name: string,
  title: string,
  unit: Entry['unit'],
  aim: string,
  measured: (node: Node) => Promise<number>,
  worker: 'on' | 'off' = 'off',
): Entry {
  return {
    name,
    title: `${title}, with ${members} users and ${finishedJobs} finished jobs`,
    baseline: few,
    unit,
    aim,
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const empty = await startNode(frame, worker, fewMembers, 0)
      const full = await startNode(frame, worker, members, finishedJobs)
      return {
        baseline: () => measured(empty),
        ours: () => measured(full),
        notes: () => `memory ${megabytes(empty)} MB against ${megabytes(full)} MB`,
      }
    }),
  }
}

async function startNode(frame: Frame, worker: 'on' | 'off', crowd: number, jobs: number): Promise<Node> {
  const service = await frame.startService({ CARTAGE_JOB_QUEUE_LIMIT: '1000000', CARTAGE_WORKER: worker })
  await makeCrowd(frame, service, crowd)
  const users = await makeUsers(frame, service, 4)
  if (worker === 'on') await prepareTables(service, users)
  await makeHistory(frame, service.namespace, jobs)
  const env = {
    CARTAGE_DATABASE_URL: (await frame.cluster()).url,
    CARTAGE_SECRET: secret,
    CARTAGE_NAMESPACE: service.namespace,
    CARTAGE_WORKER: 'off',
  }
  return { service, users, env }
}

/** The mean of many: one in some dozens also makes spare roles. Each member is removed outside the measured time. */
async function createMembers({ service }: Node): Promise<number> {
  const count = 66
  let taken = 0
  for (let turn = 0; turn < count; turn++) {
    const username = 'one-more'
    taken += await seconds(() => service.admin('POST', '/users', { username, organization }))
    await service.admin('DELETE', `/users/${username}`)
  }
  return (1000 * taken) / count
}

async function runJobs({ service, users }: Node): Promise<number> {
  const client = new RawClient(service.url)
  const times: number[] = []
  for (let n = 0; n < 100; n++) times.push(await runJob(client, users[n % users.length]!))
  client.close()
  return median(times)
}

async function startAgain({ env }: Node): Promise<number> {
  let started: RunningService | undefined
  const taken = await seconds(async () => {
    started = await spawnService(env)
  })
  await started?.stop()
  return taken
}

/** Each member logs in again: there are more than a process keeps connections for. */
async function firstQueries({ service }: Node): Promise<number> {
  const client = new RawClient(service.url)
  const times: number[] = []
  for (let number = 1; number <= fewMembers; number++) {
    const path = `/user/${memberName(number)}/api/v2/sql?q=select+1&api_key=${memberToken(number)}`
    times.push(1000 * (await seconds(() => client.read(path))))
  }
  client.close()
  return median(times)
}

const megabytes = ({ service }: Node) => Math.round(processUse(service.pid).rssBytes / 1024 ** 2)
