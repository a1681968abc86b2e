import { Aftermath } from './aftermath.ts'
import { type AttackCounts, type AttackName, areGentle, attack } from './attacks/attack.ts'
import { Load } from './load.ts'
import { seededRandom } from './random.ts'
import { RecoveryTimes } from './recovery-times.ts'
import { Revocations } from './revocations.ts'
import { setStage } from './stage.ts'
import { type Findings, verify } from './verify.ts'

export type ChaosOptions = Readonly<{
  seed: number
  kills: number
  seconds: number
  users: number
  servers: number
  workers: number
  /** Jobs of one user that run at the same time. */
  jobsPerUser: number
  /** Jobs on their way at any time. */
  clients: number
  /** Mean time between two attacks. */
  pauseMs: number
  longestStallMs: number
  only: readonly AttackName[]
  /** Ends the attacks early. */
  signal?: AbortSignal
}>

export type ChaosReport = Readonly<{
  options: ChaosOptions
  seconds: number
  attacks: AttackCounts
  recoveryMs: readonly number[]
  findings: Findings
}>

/**
 * Real processes under load are killed, stopped, cut off and lied to by the network at random; then what they did is
 * held against what they say.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedAt = Date.now()
  const { seed } = options
  const stage = await setStage(options)
  const load = new Load(stage, seededRandom(seed), options.clients)
  const revocations = new Revocations(stage, seededRandom(seed + 2), keyClients)
  const recovery = new RecoveryTimes(stage)
  const aftermath = new Aftermath()
  const scene = { ...options, stage, random: seededRandom(seed + 1), recovery, aftermath }
  try {
    await load.warmUp(options.clients)
    const attacks = await attack(scene, options)
    await aftermath.settle()
    await load.finish(patienceMs)
    await revocations.finish()
    await recovery.settle()
    // Whoever does not answer any more has been noticed by now, and what is asked below must be answered.
    for (const { process } of stage.servers) process.signal('SIGKILL')
    const findings = await verify(stage, load, revocations, areGentle(options.only))
    return {
      options,
      seconds: (Date.now() - startedAt) / 1000,
      attacks,
      recoveryMs: recovery.samplesMs.toSorted((a, b) => a - b),
      findings,
    }
  } finally {
    await Promise.all([aftermath.settle(), load.finish(0), revocations.finish()])
    await stage.close()
  }
}

const keyClients = 3
/** After the last attack every job must come to its end within this time. */
const patienceMs = 60_000
