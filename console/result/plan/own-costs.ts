import { type PlanNode, textIn } from './plan-node.ts'

/** What a node took itself, without its children. `hit` and `read` are buffers of 8 kB, if they were counted. */
export type OwnCosts = Readonly<{ ms: number; hit?: number; read?: number }>

type Whole = { ms: number; hit: number; read: number }

/**
 * PostgreSQL reports for each node the total with its children, and times as the average of its loops. A CTE is listed
 * below the node with its WITH, but runs inside its scans. Processes below a Gather run in parallel.
 */
export function costsBelow(root: PlanNode): ReadonlyMap<PlanNode, OwnCosts> {
  const costs = new Map<PlanNode, OwnCosts>()
  if (root['Actual Total Time'] === undefined) return costs
  const ctes = new Map<string, Whole>()
  walk(root, 1, (node, processes) => {
    const name = cteOf(node)
    if (name !== undefined) ctes.set(name, wholeOf(node, processes))
  })
  walk(root, 1, (node, processes) => {
    const below = processesBelow(node, processes)
    const children = (node.Plans ?? []).filter((child) => cteOf(child) === undefined)
    const own = children.reduce(
      (left, child) => without(left, wholeOf(child, below)),
      wholeOf(node, processes),
    )
    costs.set(node, shown(node, withoutCte(node, own, ctes)))
  })
  return costs
}

function walk(node: PlanNode, processes: number, visit: (node: PlanNode, processes: number) => void): void {
  visit(node, processes)
  for (const child of node.Plans ?? []) walk(child, processesBelow(node, processes), visit)
}

/** The number of processes that ran the part below a Gather. */
function processesBelow(node: PlanNode, processes: number): number {
  if (!/^Gather/.test(node['Node Type'])) return processes
  const [child] = node.Plans ?? []
  return Math.max(1, (child?.['Actual Loops'] ?? 1) / (node['Actual Loops'] || 1)) * processes
}

const cteOf = (node: PlanNode) => /^CTE (.*)$/s.exec(textIn(node, 'Subplan Name') ?? '')?.[1]

/** The first scan of a CTE runs it, up to what it reads. The rest counts for the next scans. */
function withoutCte(node: PlanNode, own: Whole, ctes: Map<string, Whole>): Whole {
  const name = node['Node Type'] === 'CTE Scan' ? textIn(node, 'CTE Name') : undefined
  const cte = name === undefined ? undefined : ctes.get(name)
  if (name === undefined || !cte) return own
  ctes.set(name, without(cte, own))
  return without(own, cte)
}

function wholeOf(node: PlanNode, processes: number): Whole {
  return {
    ms: ((node['Actual Total Time'] ?? 0) * (node['Actual Loops'] ?? 1)) / processes,
    hit: Number(node['Shared Hit Blocks'] ?? 0) + Number(node['Local Hit Blocks'] ?? 0),
    read: Number(node['Shared Read Blocks'] ?? 0) + Number(node['Local Read Blocks'] ?? 0),
  }
}

const without = (all: Whole, part: Whole): Whole => ({
  ms: Math.max(0, all.ms - part.ms),
  hit: Math.max(0, all.hit - part.hit),
  read: Math.max(0, all.read - part.read),
})

const shown = (node: PlanNode, { ms, hit, read }: Whole): OwnCosts =>
  node['Shared Hit Blocks'] === undefined ? { ms } : { ms, hit, read }
