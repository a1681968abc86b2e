import { Aftermath } from './aftermath.ts'
import { type AttackCounts, areGentle, attack, type Kinds } from './attacks/attack.ts'
import type { EngineOptions } from './engine.ts'
import { Imports } from './imports.ts'
import { Load } from './load.ts'
import { type Outage, Outages } from './outages.ts'
import { Phases } from './phases.ts'
import { Moves } from './places.ts'
import { seededRandom } from './random.ts'
import { RecoveryTimes } from './recovery-times.ts'
import { Revocations } from './revocations.ts'
import { Schedules } from './schedules.ts'
import { setStage } from './stage.ts'
import { Uploads } from './uploads.ts'
import { type Clients, type Findings, verify } from './verify.ts'
import { Writes } from './writes.ts'

export type ChaosOptions = EngineOptions &
  Readonly<{
    seed: number
    kills: number
    seconds: number
    users: number
    servers: number
    workers: number
    /** Jobs of one user that run at the same time. */
    jobsPerUser: number
    /** Unfinished jobs at any time. */
    clients: number
    /** The mean time between two attacks. */
    pauseMs: number
    longestStallMs: number
    kinds: Kinds
    /** Called when a phase begins. */
    tell: (words: string) => void
    /** Ends the attacks early. */
    signal?: AbortSignal
  }>

export type ChaosReport = Readonly<{
  options: ChaosOptions
  seconds: number
  attacks: AttackCounts
  recoveryMs: readonly number[]
  outages: readonly (readonly [string, readonly Outage[]])[]
  findings: Findings
}>

/**
 * Kills, stops and cuts off real processes under load at random, also with faults of the network; then compares what
 * they did with what they say.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const startedAt = Date.now()
  const { seed } = options
  const phases = new Phases(options.tell)
  const stage = await phases.run('set the stage', 300_000, () => setStage(options))
  const outages = new Outages()
  const load = new Load(stage, seededRandom(seed), options.clients, () => outages.note('job'))
  const writes = new Writes(stage, seededRandom(seed + 3), writingClients, () => outages.note('write'))
  const imports = new Imports(stage, seededRandom(seed + 4), importClients)
  const uploads = new Uploads(stage, seededRandom(seed + 5), uploadClients)
  const revocations = new Revocations(stage, seededRandom(seed + 2), keyClients)
  const schedules = new Schedules(stage)
  const moves = new Moves(stage)
  const recovery = new RecoveryTimes(stage)
  const aftermath = new Aftermath()
  const scene = { ...options, stage, random: seededRandom(seed + 1), recovery, outages, aftermath }
  try {
    await phases.run('warm up', 180_000, () => load.warmUp(options.clients))
    await phases.run('make schedules', 60_000, () => schedules.start(options.seconds))
    const attacks = await phases.run('attack', options.seconds * 1000 + 60_000, () => attack(scene, options))
    await phases.run(
      'let the last attacks end',
      900_000,
      () => aftermath.settle(),
      () => aftermath.describe(),
    )
    const clients = { load, imports, uploads, revocations, writes, schedules, moves }
    await finish(phases, clients)
    await phases.run('see the last takeovers', 60_000, () => recovery.settle())
    await phases.run('be told of the last jobs', toldMs + 30_000, () =>
      stage.told.settle(stage.admin, toldMs),
    )
    // Restart all servers: one that hangs was noticed by now, and the requests below must be answered.
    for (const { process } of stage.servers) process.signal('SIGKILL')
    await phases.run('see the last files removed', sweptMs + 30_000, () => imports.untilSwept(sweptMs))
    const how = { wasGentle: areGentle(options.kinds), jobsPerUser: options.jobsPerUser }
    let progress = ''
    const findings = await phases.run(
      'verify',
      600_000 + load.jobs.length * longestReadMs,
      () => verify(stage, clients, how, (words) => (progress = words)),
      () => progress,
    )
    return {
      options,
      seconds: (Date.now() - startedAt) / 1000,
      attacks,
      recoveryMs: recovery.samplesMs.toSorted((a, b) => a - b),
      outages: outages.list(),
      findings,
    }
  } finally {
    await phases.run('clear the stage', 120_000, async () => {
      for (const clients of [load, imports, uploads, revocations, writes]) clients.giveUp()
      await stage.close()
    })
  }
}

/** Waits until everything begun has ended. */
async function finish(
  phases: Phases,
  { load, imports, uploads, revocations, writes, schedules, moves }: Clients,
): Promise<void> {
  await phases.run('let the last moves end', movesMs + 150_000, () => moves.finish(movesMs))
  await phases.run('stop the schedules', 60_000, () => schedules.stop())
  await phases.run('let the last jobs end', patienceMs + 60_000, () => load.finish(patienceMs))
  await phases.run('let the last imports end', patienceMs + 60_000, () => imports.finish(patienceMs))
  await phases.run('let the last uploads end', patienceMs + 60_000, () => uploads.finish(patienceMs))
  await phases.run('revoke the last tokens', 120_000, () => revocations.finish())
  await phases.run('end the last copies', 120_000, () => writes.finish())
}

/** One after another, each undone or completed by a live process. */
const movesMs = 600_000
const keyClients = 3
const writingClients = 4
const importClients = 3
const uploadClients = 2
/** After the last attack every job must end within this time. */
const patienceMs = 60_000
/** A message that was cut off or refused waits before it is sent again. */
const toldMs = 180_000
/** A sweep, which runs every minute, removes files of a killed process when they are a minute old. */
const sweptMs = 180_000
/** The longest read of one job, on a busy machine. */
const longestReadMs = 100
