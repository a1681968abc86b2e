import { setTimeout as sleep } from 'node:timers/promises'
import { serverProcesses } from '../../src/postgres/cluster/processes.ts'
import type { Attack, Scene } from '../attacks/scene.ts'
import { killAll, stopForAWhile } from '../postgres/stop-processes.ts'
import type { Random } from '../random.ts'
import type { PatroniCluster } from './cluster.ts'
import type { PatroniNode } from './node.ts'

/** Harms the cluster, and returns when that is done. `primary` is the leader. */
type Fault = (cluster: PatroniCluster, primary: PatroniNode, random: Random) => Promise<void>

const faults = {
  'switch over': (cluster) => cluster.switchOver(),
  'kill -9 the primary': async (_, primary) => {
    process.kill(await primary.readPostmasterPid(), 'SIGKILL')
  },
  'kill -9 Patroni of the primary': async (_, primary) => primary.patroni.signal('SIGKILL'),
  'lose the primary node': async (_, primary, random) => {
    await primary.patroni.end()
    await killAll(primary.dataPath)
    await sleep(random.between(1_000, 40_000))
    await primary.patroni.startAgain()
  },
  'stop the primary': (_, primary, random) =>
    stopForAWhile(serverProcesses(primary.dataPath), random.between(5_000, 30_000)),
  'stop Patroni of the primary': (_, primary, random) =>
    stopForAWhile([primary.patroni.pid], random.between(5_000, 40_000)),
  // When it continues, another node may have been the primary for long.
  'stop the primary node': (_, primary, random) =>
    stopForAWhile(
      [primary.patroni.pid, ...serverProcesses(primary.dataPath)],
      random.between(10_000, 45_000),
    ),
  'kill -9 a standby': async ({ nodes }, primary, random) => {
    const standby = random.pick(nodes.filter((node) => node !== primary))
    process.kill(await standby.readPostmasterPid(), 'SIGKILL')
  },
  'restart HAProxy': async ({ haproxy }, _, random) => {
    haproxy.signal(random.pick(['SIGTERM', 'SIGKILL']))
  },
  'stop HAProxy': ({ haproxy }, _, random) => stopForAWhile([haproxy.pid], random.between(1_000, 10_000)),
  'kill -9 etcd': async ({ etcd }) => etcd.signal('SIGKILL'),
  'stop etcd': ({ etcd }, _, random) => stopForAWhile([etcd.pid], random.between(2_000, 30_000)),
  'cut the primary off': async (_, { proxies }, random) => {
    const ms = random.between(5_000, 40_000)
    await Promise.all(Object.values(proxies).map((proxy) => proxy.isolate(ms)))
  },
  'cut the primary off from etcd': (_, { proxies }, random) =>
    proxies.etcd.isolate(random.between(5_000, 40_000)),
  'cut the primary off from the standbys': (_, { proxies }, random) =>
    proxies.peers.isolate(random.between(3_000, 25_000)),
} as const satisfies Record<string, Fault>

/** One fault at a time: the next may come when the cluster is whole again. */
export const patroniKinds = Object.fromEntries(
  Object.entries(faults).map(([name, fault]) => [
    `Patroni: ${name}`,
    { attack: attackBy(name, fault), weight: 10 },
  ]),
)

function attackBy(name: string, fault: Fault): Attack {
  return async (scene) => {
    const cluster = scene.stage.patroni!
    const primary = await cluster.takeTurn()
    scene.aftermath.add(name, suffer(scene, cluster, primary, name, fault), (error) =>
      cluster.troubles.push(`${name}: ${error}`),
    )
  }
}

async function suffer(
  { outages, random, recovery, tell }: Scene,
  cluster: PatroniCluster,
  primary: PatroniNode,
  name: string,
  fault: Fault,
): Promise<void> {
  try {
    recovery.disturb()
    tell(`${now()} ${name}; ${primary.name} leads`)
    await outages.watch(name, async () => {
      await fault(cluster, primary, random)
      tell(`${now()} ${name}: done`)
      await cluster.untilWhole(healMs)
      tell(`${now()} ${name}: the cluster is whole`)
      await sleep(random.between(0, 5_000))
    })
  } finally {
    recovery.disturb()
    cluster.endTurn()
  }
}

const now = () => new Date().toISOString()

const healMs = 240_000
