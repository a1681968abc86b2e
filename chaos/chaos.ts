import { type AttackCounts, attack } from './attacks.ts'
import { Load } from './load.ts'
import { seededRandom } from './random.ts'
import { RecoveryTimes } from './recovery-times.ts'
import { setStage } from './stage.ts'
import { type Findings, verify } from './verify.ts'

export type ChaosOptions = Readonly<{
  seed: number
  kills: number
  seconds: number
  users: number
  servers: number
  workers: number
  /** Jobs on their way at any time. */
  clients: number
  /** Mean time between two attacks. */
  pauseMs: number
}>

export type ChaosReport = Readonly<{
  options: ChaosOptions
  seconds: number
  attacks: AttackCounts
  recoveryMs: readonly number[]
  findings: Findings
}>

/** Real processes under load are killed, stopped and cut off at random; then what they did is held against what they say. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedAt = Date.now()
  const stage = await setStage(options)
  try {
    const recovery = new RecoveryTimes(stage)
    const load = new Load(stage, seededRandom(options.seed), options.clients)
    await load.warmUp(options.clients)
    const attacks = await attack({ stage, random: seededRandom(options.seed + 1), recovery }, options)
    await load.finish()
    await recovery.settle()
    const findings = await verify(stage, load)
    return {
      options,
      seconds: (Date.now() - startedAt) / 1000,
      attacks,
      recoveryMs: recovery.samplesMs.toSorted((a, b) => a - b),
      findings,
    }
  } finally {
    await stage.close()
  }
}
