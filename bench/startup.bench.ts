import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { createLog } from '../src/log.ts'
import { startEmbeddedCluster } from '../src/postgres/embedded-cluster.ts'
import { type Benchmark, seconds } from './frame/benchmark.ts'
import { spawnService } from './frame/service.ts'

const log = createLog('warn')

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'first-start',
    title: 'from nothing to a ready service with a demo user',
    unit: 's',
    rounds: 7,
    prepare: async (frame) => {
      const folder = await frame.makeFolder()
      const inNewFolder = async (start: (dataDir: string) => Promise<() => Promise<void>>) => {
        const dataDir = join(folder, 'data')
        let stop = async () => {}
        const taken = await seconds(async () => {
          stop = await start(dataDir)
        })
        await stop()
        await rm(dataDir, { recursive: true, force: true })
        return taken
      }
      return {
        baseline: { name: 'a bare cluster with PostGIS', measure: () => inNewFolder(startBareCluster) },
        candidates: [{ name: 'cartage serve', measure: () => inNewFolder(startService) }],
      }
    },
  },
  {
    name: 'second-start',
    title: 'from a stopped service to a ready one',
    unit: 's',
    rounds: 11,
    prepare: async (frame) => {
      const dataDir = join(await frame.makeFolder(), 'data')
      await (await startService(dataDir))()
      const again = async (start: (dataDir: string) => Promise<() => Promise<void>>) => {
        let stop = async () => {}
        const taken = await seconds(async () => {
          stop = await start(dataDir)
        })
        await stop()
        return taken
      }
      return {
        baseline: { name: 'its cluster alone', measure: () => again(startCluster) },
        candidates: [{ name: 'cartage serve', measure: () => again(startService) }],
      }
    },
  },
]

async function startService(dataDir: string): Promise<() => Promise<void>> {
  const service = await spawnService({ CARTAGE_DATA_DIR: dataDir })
  return service.stop
}

async function startCluster(dataDir: string): Promise<() => Promise<void>> {
  const cluster = await startEmbeddedCluster({ dataDir, log })
  return () => cluster.stop()
}

async function startBareCluster(dataDir: string): Promise<() => Promise<void>> {
  const cluster = await startEmbeddedCluster({ dataDir, log })
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  await client.query('create extension postgis')
  await client.end()
  return () => cluster.stop()
}
