import { setTimeout as sleep } from 'node:timers/promises'
import { serverProcesses } from '../../src/postgres/cluster/processes.ts'
import { failOver } from '../failover.ts'
import { stopForAWhile } from '../postgres/stop-processes.ts'
import { hostsOf, pickPrimary, type Scene } from './scene.ts'

export async function killPostgres(scene: Scene): Promise<void> {
  scene.recovery.disturb()
  pickPrimary(scene).signal('SIGKILL')
}

export async function restartPostgres(scene: Scene): Promise<void> {
  scene.recovery.disturb()
  pickPrimary(scene).signal('SIGINT')
}

/** Stops every process of the server, so that its clients get no answer at all. */
export async function stopPostgres(scene: Scene): Promise<void> {
  const { random, aftermath, recovery, longestStallMs } = scene
  recovery.disturb()
  const pids = serverProcesses(pickPrimary(scene).dataPath)
  const stalled = stopForAWhile(pids, random.between(5_000, longestStallMs))
  aftermath.add(
    'stop postgres',
    stalled.then(() => recovery.disturb()),
  )
}

/** The replica has everything that the primary had. */
export async function promoteReplica(scene: Scene): Promise<void> {
  await promote(scene, false)
}

export async function promoteReplicaThatLags(scene: Scene): Promise<void> {
  await promote(scene, true)
}

/** Commits on a synchronous host wait meanwhile; elsewhere the replica falls behind. */
export async function cutReplicaOff({ stage, random, aftermath }: Scene): Promise<void> {
  const { second } = hostsOf(stage)
  aftermath.add('cut replica off', second.cutReplicaOff(random.between(500, 8_000)))
}

/** Ends the backend, or only its wait. */
export async function cutWaitingCommit({ stage, random }: Scene): Promise<void> {
  const { second } = hostsOf(stage)
  for (let looks = 0; looks < 20; looks++) {
    if ((await second.endWaitingCommit(random)) !== 'none') return
    await sleep(50)
  }
  throw new Error('no commit waits')
}

async function promote({ stage, random, aftermath }: Scene, losesTail: boolean): Promise<void> {
  const { second } = hostsOf(stage)
  const taken = await second.takeReplica()
  aftermath.add('promote', failOver(stage, taken, random, losesTail), (error) =>
    second.troubles.push(String(error)),
  )
}
