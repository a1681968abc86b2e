import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'
import type { RecoveryTimes } from './recovery-times.ts'
import type { Stage } from './stage.ts'

export type AttackName = keyof typeof attacks

type Scene = Readonly<{ stage: Stage; random: Random; recovery: RecoveryTimes }>

/** Each does one kind of harm once; how often each is chosen stands beside it. */
const attacks = {
  'kill -9 a worker': async ({ stage, random, recovery }: Scene) => {
    const victim = random.pick(stage.workers)
    await recovery.watch(victim.pid, () => victim.signal('SIGKILL'))
  },
  'kill -9 a server': async ({ stage, random }: Scene) => {
    random.pick(stage.servers).signal('SIGKILL')
  },
  'SIGTERM a worker': async ({ stage, random }: Scene) => {
    random.pick(stage.workers).signal('SIGTERM')
  },
  'stop a worker for a moment': async (scene: Scene) => {
    pause(scene, scene.random.between(100, 2_500))
  },
  'stop a worker until it is given up': async (scene: Scene) => {
    pause(scene, scene.random.between(11_000, 15_000))
  },
  'cut the connection of a job': async ({ stage, random }: Scene) => {
    await cut(stage, `application_name = 'cartage job'`, random)
  },
  'cut a connection at its commit': async ({ stage, random }: Scene) => {
    for (let looks = 0; looks < 10; looks++) {
      const committing = `application_name = 'cartage job' and state = 'active' and query like '%commit'`
      if (await cut(stage, committing, random)) return
    }
  },
  'cut a control connection': async ({ stage, random }: Scene) => {
    await cut(stage, `application_name = 'cartage control'`, random)
  },
  'kill -9 a backend': async ({ stage, random, recovery }: Scene) => {
    const { rows } = await stage.admin(
      `select pid from pg_stat_activity where backend_type = 'client backend' and application_name like 'cartage%'`,
    )
    if (rows.length === 0) return
    recovery.disturb()
    process.kill(random.pick(rows).pid, 'SIGKILL')
  },
  'kill -9 all of PostgreSQL': async ({ stage, recovery }: Scene) => {
    recovery.disturb()
    process.kill(stage.cluster.pid, 'SIGKILL')
  },
  'restart PostgreSQL': async ({ stage, recovery }: Scene) => {
    recovery.disturb()
    process.kill(stage.cluster.pid, 'SIGINT')
  },
} as const satisfies Record<string, (scene: Scene) => Promise<void>>

const weights: Readonly<Record<AttackName, number>> = {
  'kill -9 a worker': 30,
  'kill -9 a server': 8,
  'SIGTERM a worker': 8,
  'stop a worker for a moment': 8,
  'stop a worker until it is given up': 2,
  'cut the connection of a job': 20,
  'cut a connection at its commit': 16,
  'cut a control connection': 10,
  'kill -9 a backend': 4,
  'kill -9 all of PostgreSQL': 3,
  'restart PostgreSQL': 1,
}

export type AttackCounts = Partial<Record<AttackName, number>>

/** Does harm again and again, at a random pace, until it has been done often enough or the time is over. */
export async function attack(
  scene: Scene,
  limits: Readonly<{ kills: number; seconds: number; pauseMs: number }>,
): Promise<AttackCounts> {
  const counts: AttackCounts = {}
  const deadline = Date.now() + limits.seconds * 1000
  for (let kills = 0; kills < limits.kills && Date.now() < deadline; ) {
    await sleep(scene.random.between(0, 2 * limits.pauseMs))
    const name = scene.random.weighted(weights)
    try {
      await attacks[name](scene)
      counts[name] = (counts[name] ?? 0) + 1
      kills += 1
    } catch {
      // PostgreSQL is away, or the victim was quicker.
    }
  }
  return counts
}

/** A stopped process that wakes up later, perhaps after its jobs were taken over. */
function pause({ stage, random }: Scene, ms: number): void {
  const victim = random.pick(stage.workers)
  victim.signal('SIGSTOP')
  const { pid } = victim
  setTimeout(() => {
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // Something else has ended it meanwhile.
    }
  }, ms)
}

async function cut(stage: Stage, condition: string, random: Random): Promise<boolean> {
  const { rowCount } = await stage.admin(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity where ${condition} order by md5(pid::text || $1) limit 1
     ) victim`,
    [String(random.next())],
  )
  return rowCount === 1
}
