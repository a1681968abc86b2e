import type { Member } from '../members.ts'
import type { Link } from '../proxy/link.ts'
import { longestVanishMs, type TcpProxy } from '../proxy/tcp-proxy.ts'
import { hostsOf, type Scene } from './scene.ts'

export async function resetLink(scene: Scene): Promise<void> {
  pickLink(scene).link.reset()
}

export async function delayLink(scene: Scene): Promise<void> {
  const { random, aftermath } = scene
  const { link } = pickLink(scene)
  aftermath.add('delay link', link.delay(random.between(20, 800), random.between(500, 5_000)))
}

/** The bytes of a client are executed long after it has given up; sometimes it is killed before it sends more. */
export async function holdAndDeliverLate(scene: Scene): Promise<void> {
  const { random, aftermath } = scene
  const { link, member } = pickLink(scene)
  const isKilled = random.isLucky(0.4)
  const late = link.deliverLate(random.between(0, 300), random.between(50, 2_000), () => {
    if (isKilled) member?.process.signal('SIGKILL')
  })
  aftermath.add('hold and deliver late', late)
}

/** The client sees the connection closed, the server does not. */
export async function closeTowardsClient(scene: Scene): Promise<void> {
  const { random, aftermath } = scene
  aftermath.add('close towards client', pickLink(scene).link.closeTowardsClient(random.between(500, 10_000)))
}

/** The server sees the connection closed, the client does not: half-open. */
export async function closeTowardsServer(scene: Scene): Promise<void> {
  const { link } = pickLink(scene)
  scene.aftermath.add('close towards server', link.vanish(0, patienceOf(scene, link)))
}

/** Neither side sees that nothing gets through any more. */
export async function blackHole(scene: Scene): Promise<void> {
  const { link } = pickLink(scene)
  scene.aftermath.add(
    'black hole',
    link.vanish(scene.random.between(2_000, longestVanishMs), patienceOf(scene, link)),
  )
}

/** All of its connections, and those that it tries to open. */
export async function isolateProcess(scene: Scene): Promise<void> {
  const { stage, random, aftermath, recovery } = scene
  recovery.disturb()
  const { control } = random.pick([...stage.servers, ...stage.workers])
  aftermath.add('isolate process', control.isolate(random.between(1_000, 15_000)))
}

/** Cuts all processes off the second host. */
export async function isolateHost({ stage, random, aftermath, recovery }: Scene): Promise<void> {
  recovery.disturb()
  aftermath.add('isolate host', hostsOf(stage).second.proxy.isolate(random.between(1_000, 15_000)))
}

type Victim = Readonly<{ link: Link; member?: Member }>

/** Mostly a link on which something was just sent. */
function pickLink({ stage, random, recovery }: Scene): Victim {
  recovery.disturb()
  const member = random.pick([...stage.servers, ...stage.workers])
  const server = random.pick(stage.servers)
  const place = random.weighted({ control: 6, host: 3, door: 1 })
  // With a single host it is that of the control database.
  const host = stage.hosts?.second.proxy ?? member.control
  const proxies = { control: member.control, host, door: server.door } as const
  const link = pickFrom(proxies[place], random.isLucky(0.7) ? 3 : Number.POSITIVE_INFINITY)
  return place === 'control' ? { link, member } : { link }

  function pickFrom({ links }: TcpProxy, most: number): Link {
    const latest = links.toSorted((one, other) => other.lastHeardAt - one.lastHeardAt).slice(0, most)
    if (latest.length === 0) throw new Error('there is no connection')
    return random.pick(latest)
  }
}

/**
 * Whatever waits for the control database or acts as the administrator must give up by itself. A tenant's statement may
 * take hours: there only TCP notices, within seconds.
 */
function patienceOf({ random }: Scene, { label }: Link): number | 'never' {
  const isBounded = label === 'cartage control' || label === 'cartage admin'
  return isBounded && random.isLucky(0.5) ? 'never' : random.between(2_000, longestVanishMs)
}
