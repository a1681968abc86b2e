import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostsOf } from './attacks/scene.ts'
import { insist } from './insist.ts'
import { readEntries, recordedEntries } from './ledger.ts'
import { placesOf } from './places.ts'
import { type Primary, startPrimary } from './postgres/primary.ts'
import { runSql } from './postgres/run-sql.ts'
import { untilCommitsWait, untilJobsSleep } from './postgres/synchronous.ts'
import type { TakenReplica } from './postgres/tenant-host.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

/**
 * The second host fails over as docs/high-availability.md says: the old primary is shut off, the replica promoted, and
 * the service given the new address. `losesTail`: the replica lacks the last transactions. Then records what was lost,
 * and makes the next replica.
 */
export async function failOver(
  stage: Stage,
  { replica, replication }: TakenReplica,
  random: Random,
  losesTail: boolean,
): Promise<void> {
  const { second } = hostsOf(stage)
  const old = second.primary
  if (losesTail) {
    if (second.isSynchronous) await untilJobsSleep(old.url, jobsAtCut, 15_000)
    void replication.isolate(replicationPatienceMs)
    if (second.isSynchronous) await endWaitingCommits(stage, random)
    else await sleep(random.between(200, 1_500))
    second.proxy.retire(random.isLucky(0.5))
    await old.shutOffAtOnce()
  } else {
    await old.shutOff()
    second.proxy.retire(true)
  }
  const at = new Date()
  await insist(() => replica.promote())
  const primary = await replica.handOver()
  replication.close()
  // Entries of users that moved away, or have not arrived, are not lost here.
  const places = await insist(() => placesOf(stage))
  const databases = [...places].flatMap(([name, url]) => (url === old.url ? [name] : []))
  const survived = await insist(() => readEntries(primary.url, databases))
  await insist(() => useTransactionIds(primary.url, Math.round(random.between(0, 600))))
  const recorded = new Set((await insist(() => recordedEntries(stage, 5))).keys())
  await second.become(primary)
  await insist(() => stage.tellAddress(second))
  const entries = await entriesOf(old, databases)
  for (const entry of survived) entries.delete(entry)
  second.lostTails.push({ entries, recorded, at, isSynchronous: second.isSynchronous })
  await insist(() => second.addReplica())
}

const replicationPatienceMs = 60_000

/**
 * No statement begins on the host while its replica is cut off: only those running at that moment reach their commit.
 */
const jobsAtCut = 3

/**
 * While commits wait for a replica that is cut off: ends backends and waits, and kills a worker, so that the service
 * has to settle its statements. Then gives it the time to.
 */
async function endWaitingCommits(stage: Stage, random: Random): Promise<void> {
  const { second } = hostsOf(stage)
  await untilCommitsWait(second.primary.url, jobsAtCut, 1_500)
  if (random.isLucky(0.5)) random.pick(stage.workers).process.signal('SIGKILL')
  for (const deadline = Date.now() + random.between(1_000, 4_000); Date.now() < deadline; ) {
    await second.endWaitingCommit(random).catch(() => 'none')
    await sleep(random.between(20, 200))
  }
  await sleep(random.between(1_500, 3_000))
}

/** Other transactions use the new primary before the service does, and get the ids of the lost ones. */
async function useTransactionIds(url: string, count: number): Promise<void> {
  await runSql(
    url,
    'postgres',
    `do $$ begin for number in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`,
  )
}

/** The committed entries of the old primary. It is started again at an unknown address, and removed. */
async function entriesOf(old: Primary, databases: readonly string[]): Promise<Set<string>> {
  // It would wait for a replica that no longer follows it.
  await rm(join(old.dataPath, 'postgresql.auto.conf'), { force: true })
  const again = await startPrimary(old.dataDir)
  try {
    return await insist(() => readEntries(again.url, databases))
  } finally {
    await again.remove()
  }
}
