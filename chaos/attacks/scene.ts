import type { Aftermath } from '../aftermath.ts'
import type { DatabaseServer, Hosts } from '../engine.ts'
import type { Outages } from '../outages.ts'
import type { Primary } from '../postgres/primary.ts'
import type { Random } from '../random.ts'
import type { RecoveryTimes } from '../recovery-times.ts'
import type { Stage } from '../stage.ts'

/** What an attack works on. */
export type Scene = Readonly<{
  stage: Stage
  random: Random
  recovery: RecoveryTimes
  outages: Outages
  aftermath: Aftermath
  /** The longest time for which a whole PostgreSQL is stopped. */
  longestStallMs: number
  tell: (words: string) => void
}>

/** Attacks once. Rejects if there was nothing to attack; what takes time goes to the aftermath. */
export type Attack = (scene: Scene) => Promise<void>

/** The server of the control database and half of the users, or that of the others. */
export function pickPrimary({ stage, random }: Scene): Primary {
  const { first, second } = hostsOf(stage)
  return random.isLucky(0.6) ? first : second.primary
}

/** The same, or the only server there is. */
export function pickServer(scene: Scene): DatabaseServer {
  return scene.stage.hosts ? pickPrimary(scene) : scene.stage.control
}

/** For attacks that need two hosts of chaos' own. */
export function hostsOf({ hosts }: Stage): Hosts {
  if (!hosts) throw new Error('this engine has no second host')
  return hosts
}
