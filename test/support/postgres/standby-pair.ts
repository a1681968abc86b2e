import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { Replica } from '../../../chaos/postgres/replica.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import { prepareNamespace } from '../runner/namespace.ts'
import { eventually } from '../service/setup.ts'

export type StandbyPair = Readonly<{
  primaryUrl: string
  standbyUrl: string
  /** A namespace there that has its template. */
  namespace: string
  /** Stops the primary for good and promotes the standby. */
  failOver: () => Promise<void>
}>

const cleanups: (() => Promise<void>)[] = []

after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

let pair: Promise<StandbyPair> | undefined

/** A primary and a standby that follows it: one pair for all tests; only the last may fail over. */
export function standbyPair(): Promise<StandbyPair> {
  pair ??= newStandbyPair()
  return pair
}

export async function newStandbyPair(namespace = 'ct_pair'): Promise<StandbyPair> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-primary-'))
  const settings = { fsync: 'off', full_page_writes: 'off' }
  const primary = await startEmbeddedCluster({ dataDir, log: createLog('error'), isOnTcp: true, settings })
  cleanups.push(async () => {
    await primary.stop()
    for (const path of [dataDir, primary.directory]) await rm(path, { recursive: true, force: true })
  })
  await prepareNamespace(primary.url, namespace)
  const replica = await Replica.make(await mkdtemp(join(tmpdir(), 'cartage-standby-')), primary.url)
  cleanups.push(() => replica.remove())
  await eventually(async () => assert.ok(await replica.isStreaming()))
  return {
    primaryUrl: primary.url,
    standbyUrl: replica.url,
    namespace,
    failOver: async () => {
      await primary.stop()
      await replica.promote()
    },
  }
}
