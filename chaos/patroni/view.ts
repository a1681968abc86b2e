/** The cluster as Patroni reports it. */
export type ClusterView = Readonly<{
  leader: string | undefined
  /** The standby that commits wait for. */
  synchronous: string | undefined
  members: readonly MemberView[]
}>

type MemberView = Readonly<{
  name: string
  role: string
  state: string
  timeline?: number
  lag?: number | 'unknown'
}>

/** As reported by the first node that answers. */
export async function viewCluster(restPorts: readonly number[]): Promise<ClusterView> {
  return Promise.any(restPorts.map(askNode))
}

async function askNode(port: number): Promise<ClusterView> {
  const response = await fetch(`http://127.0.0.1:${port}/cluster`, { signal: AbortSignal.timeout(5_000) })
  const { members } = (await response.json()) as { members: MemberView[] }
  const named = (role: string) => members.find((member) => member.role === role)?.name
  return { leader: named('leader'), synchronous: named('sync_standby'), members }
}

/** All nodes follow the leader's timeline without a lag, and commits wait for one of them. */
export function isWhole({ leader, synchronous, members }: ClusterView, nodes: number): boolean {
  const timeline = members.find(({ name }) => name === leader)?.timeline
  const isWell = ({ state, lag, ...member }: MemberView) =>
    ['running', 'streaming'].includes(state) && member.timeline === timeline && (lag ?? 0) === 0
  return leader !== undefined && synchronous !== undefined && members.filter(isWell).length === nodes
}
