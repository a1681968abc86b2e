import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineName } from '../engine.ts'
import { patroniKinds } from '../patroni/faults.ts'
import type { Random } from '../random.ts'
import * as backends from './backends.ts'
import * as moves from './moves.ts'
import * as network from './network.ts'
import * as processes from './processes.ts'
import type { Attack, Scene } from './scene.ts'
import * as servers from './servers.ts'

/** `isGentle`: it only takes time, so no statement may be restarted because of it. */
type Kind = Readonly<{ attack: Attack; weight: number; isGentle?: true }>

/** Attacks for every engine, and how often each is chosen. */
const kindsEverywhere: Readonly<Record<string, Kind>> = {
  'kill -9 a worker': { attack: processes.killWorker, weight: 20 },
  'kill -9 a server': { attack: processes.killServer, weight: 6 },
  'SIGTERM a worker': { attack: processes.terminateWorker, weight: 6 },
  'stop a worker for a moment': { attack: processes.stopWorkerBriefly, weight: 6 },
  'stop a worker until it is given up': { attack: processes.stopWorkerLong, weight: 2 },
  'stop a server': { attack: processes.stopServer, weight: 4, isGentle: true },
  'cut the connection of a job': { attack: backends.cutJob, weight: 10 },
  'cut a connection at its commit': { attack: backends.cutAtCommit, weight: 10 },
  'cut a control connection': { attack: backends.cutControl, weight: 6 },
  'kill -9 a backend': { attack: backends.killBackend, weight: 2 },
  'stop a backend': { attack: backends.stopBackend, weight: 6 },
  'stop a backend and reset its client': { attack: backends.stopBackendAndResetClient, weight: 8 },
  'reset a connection': { attack: network.resetLink, weight: 10 },
  'delay a connection': { attack: network.delayLink, weight: 8, isGentle: true },
  'hold and deliver late': { attack: network.holdAndDeliverLate, weight: 20 },
  'close towards the client': { attack: network.closeTowardsClient, weight: 6 },
  'close towards the server': { attack: network.closeTowardsServer, weight: 6 },
  'black hole': { attack: network.blackHole, weight: 5 },
  'isolate a process': { attack: network.isolateProcess, weight: 2 },
}

/** Attacks on chaos' own servers, which it starts and promotes itself. */
const kindsOfPostgres: Readonly<Record<string, Kind>> = {
  'kill -9 all of PostgreSQL': { attack: servers.killPostgres, weight: 2 },
  'restart PostgreSQL': { attack: servers.restartPostgres, weight: 1 },
  'stop all of PostgreSQL': { attack: servers.stopPostgres, weight: 0.7, isGentle: true },
  'promote a replica': { attack: servers.promoteReplica, weight: 1 },
  'promote a replica that lacks the tail': { attack: servers.promoteReplicaThatLags, weight: 3 },
  'cut off the replica': { attack: servers.cutReplicaOff, weight: 2 },
  'isolate a host': { attack: network.isolateHost, weight: 1 },
}

/** Attacks where commits wait for a replica. */
const kindsOfWaiting: Readonly<Record<string, Kind>> = {
  'promote a replica that lacks the tail': { attack: servers.promoteReplicaThatLags, weight: 10 },
  'end a commit that waits for the replica': { attack: servers.cutWaitingCommit, weight: 6 },
  // Elsewhere a fail-over after the move could lose the whole copy.
  'move a user': { attack: moves.moveUser, weight: 12 },
}

export type Kinds = Readonly<Record<string, Kind>>
export type AttackCounts = Record<string, number>

/** The kinds for this engine whose names contain one of the words; without words, all. */
export function kindsNamed(engine: EngineName, isSynchronous: boolean, words: readonly string[]): Kinds {
  const own = engine === 'patroni' ? patroniKinds : kindsOfPostgres
  const kinds = { ...kindsEverywhere, ...own, ...(isSynchronous ? kindsOfWaiting : {}) }
  const names = Object.keys(kinds)
  for (const word of words) {
    if (!names.some((name) => name.includes(word))) {
      throw new Error(`no attack is called '${word}'; there are: ${names.join(', ')}`)
    }
  }
  const isMeant = (name: string) => words.length === 0 || words.some((word) => name.includes(word))
  return Object.fromEntries(Object.entries(kinds).filter(([name]) => isMeant(name)))
}

export function areGentle(kinds: Kinds): boolean {
  return Object.values(kinds).every(({ isGentle }) => isGentle ?? false)
}

export type AttackLimits = Readonly<{
  kills: number
  seconds: number
  /** The mean time between two attacks. */
  pauseMs: number
  kinds: Kinds
  signal?: AbortSignal | undefined
}>

/** Attacks repeatedly at random intervals, until there were enough attacks or the time is over. */
export async function attack(scene: Scene, limits: AttackLimits): Promise<AttackCounts> {
  const { random } = scene
  const counts: AttackCounts = {}
  const deadline = Date.now() + limits.seconds * 1000
  const { kinds } = limits
  const names = Object.keys(kinds)
  const weights = Object.fromEntries(names.map((name) => [name, kinds[name]!.weight]))
  const eachOnce = shuffled(names, random)
  for (let kills = 0; kills < limits.kills && Date.now() < deadline && !limits.signal?.aborted; ) {
    await sleep(random.between(0, 2 * limits.pauseMs))
    const due = random.isLucky(0.8) ? eachOnce.shift() : undefined
    const name = due ?? random.weighted(weights)
    try {
      await kinds[name]!.attack(scene)
      counts[name] = (counts[name] ?? 0) + 1
      kills += 1
    } catch {
      // PostgreSQL is down, or the victim was faster. A due attack is tried again.
      if (due) eachOnce.push(due)
    }
  }
  return counts
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, place: random.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ value }) => value)
}
