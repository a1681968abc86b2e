import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { createLog } from '../src/log/log.ts'
import { startEmbeddedCluster } from '../src/postgres/cluster/embedded-cluster.ts'
import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { median, seconds } from './frame/measure.ts'
import { projectRoot, secret, spawnService } from './frame/service.ts'

/** Starts something on a data directory; returns how to stop it. */
type Start = (dataDir: string) => Promise<() => Promise<void>>

export const entries: readonly Entry[] = [
  {
    name: 'start-first',
    title: 'From an empty data directory to a ready service with a demo user',
    baseline: 'a bare cluster with PostGIS in one database',
    unit: 's',
    aim: '3 or less',
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const dataDir = join(await frame.makeFolder(), 'data')
      const anew = async (start: Start) => {
        await rm(dataDir, { recursive: true, force: true })
        return timeStart(start, dataDir)
      }
      return { baseline: () => anew(startBareCluster), ours: () => anew(startService) }
    }),
  },
  {
    name: 'start-again',
    title: 'From a stopped service to a ready one',
    baseline: 'its cluster alone',
    unit: 's',
    aim: '0.7 s or less',
    pairs: 11,
    prepare: inFrame(async (frame) => {
      const dataDir = join(await frame.makeFolder(), 'data')
      await timeStart(startService, dataDir)
      return {
        baseline: () => timeStart(startCluster, dataDir),
        ours: () => timeStart(startService, dataDir),
        limit: startLimit,
      }
    }),
  },
  {
    name: 'start-version',
    title: '`cartage --version`',
    baseline: 'Node alone',
    unit: 's',
    aim: '0.1 s or less',
    pairs: 11,
    prepare: inFrame(async () => ({
      baseline: () => timeNode(['-e', '']),
      ours: () => timeNode([program, '--version']),
    })),
  },
  {
    name: 'start-user-list',
    title: '`cartage user list` beside a running service',
    baseline: 'Node alone',
    unit: 's',
    aim: '0.25 s or less',
    pairs: 11,
    prepare: inFrame(async (frame) => {
      const { namespace } = await frame.startService()
      const env = {
        CARTAGE_DATABASE_URL: (await frame.cluster()).url,
        CARTAGE_SECRET: secret,
        CARTAGE_NAMESPACE: namespace,
      }
      return {
        baseline: () => timeNode(['-e', '']),
        ours: () => timeNode([program, 'user', 'list'], env),
      }
    }),
  },
]

const program = join(projectRoot, 'bin/cartage.mjs')

/** The service and its cluster end with the measurement, so their CPU time counts as the client's. */
const startLimit = 'the service, its cluster is up long before'

/** The median of several runs, because a single one is short. */
async function timeNode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const taken: number[] = []
  for (let turn = 0; turn < 5; turn++) {
    const run = () => promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
    taken.push(await seconds(run))
  }
  return median(taken)
}

async function timeStart(start: Start, dataDir: string): Promise<number> {
  let stop = async () => {}
  const taken = await seconds(async () => {
    stop = await start(dataDir)
  })
  await stop()
  return taken
}

async function startService(dataDir: string): Promise<() => Promise<void>> {
  const service = await spawnService({ CARTAGE_DATA_DIR: dataDir })
  return service.stop
}

async function startCluster(dataDir: string): Promise<() => Promise<void>> {
  const cluster = await startEmbeddedCluster({ dataDir, log: createLog('warn') })
  return () => cluster.stop()
}

async function startBareCluster(dataDir: string): Promise<() => Promise<void>> {
  const cluster = await startEmbeddedCluster({ dataDir, log: createLog('warn') })
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  await client.query('create extension postgis')
  await client.end()
  return () => cluster.stop()
}
