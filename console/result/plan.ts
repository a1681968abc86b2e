/** One node of a plan, as a line of a table. */
export type PlanLine = Readonly<{
  depth: number
  title: string
  detail: string
  expectedRows: number
  /** What the planner expects the node to cost, with those below it. */
  cost: number
  /** Has the largest self time. */
  isSlowest?: boolean
  /** From here on: only in a plan of EXPLAIN ANALYZE. */
  actualRows?: number
  ownMs?: number
  share?: number
  buffers?: number
  warnings: readonly string[]
}>

export type Plan = Readonly<{
  lines: readonly PlanLine[]
  totalMs: number | undefined
  planningMs: number | undefined
  /** As PostgreSQL wrote it. */
  text: string
}>

/** Reads the output of EXPLAIN (FORMAT JSON). */
export function readPlan(text: string): Plan {
  const [document] = JSON.parse(text) as [Document]
  const { Plan: root } = document
  const totalMs = document['Execution Time'] ?? root['Actual Total Time']
  return {
    lines: markSlowest(linesOf(root, 0, root['Actual Total Time'])),
    totalMs,
    planningMs: document['Planning Time'],
    text,
  }
}

/** In a plan with times, one node that takes a tenth of the time or more. */
function markSlowest(lines: readonly PlanLine[]): readonly PlanLine[] {
  const most = Math.max(...lines.map(({ ownMs = 0 }) => ownMs))
  const at = lines.findIndex(({ ownMs = 0, share = 0 }) => ownMs === most && share >= 0.1)
  return lines.map((line, place) => (place === at ? { ...line, isSlowest: true } : line))
}

type Document = Readonly<{ Plan: Node; 'Execution Time'?: number; 'Planning Time'?: number }>
type Node = Readonly<Record<string, unknown>> &
  Readonly<{
    'Node Type': string
    'Plan Rows': number
    'Total Cost': number
    'Actual Rows'?: number
    'Actual Loops'?: number
    'Actual Total Time'?: number
    Plans?: readonly Node[]
  }>

function linesOf(node: Node, depth: number, wholeMs: number | undefined): PlanLine[] {
  const children = node.Plans ?? []
  const ms = timeOf(node)
  const ownMs =
    ms === undefined
      ? undefined
      : Math.max(0, ms - children.reduce((sum, each) => sum + (timeOf(each) ?? 0), 0))
  const line: PlanLine = {
    depth,
    title: titleOf(node),
    detail: detailOf(node),
    expectedRows: node['Plan Rows'],
    cost: node['Total Cost'],
    ...(node['Actual Rows'] === undefined ? {} : { actualRows: node['Actual Rows'] * loopsOf(node) }),
    ...(ownMs === undefined ? {} : { ownMs, share: wholeMs ? Math.min(1, ownMs / wholeMs) : 0 }),
    ...(node['Shared Hit Blocks'] === undefined
      ? {}
      : { buffers: Number(node['Shared Hit Blocks']) + Number(node['Shared Read Blocks'] ?? 0) }),
    warnings: warningsOf(node),
  }
  return [line, ...children.flatMap((child) => linesOf(child, depth + 1, wholeMs))]
}

const loopsOf = (node: Node) => node['Actual Loops'] ?? 1

const timeOf = (node: Node) =>
  node['Actual Total Time'] === undefined ? undefined : node['Actual Total Time'] * loopsOf(node)

function titleOf(node: Node): string {
  const of = node['Relation Name'] ?? node['Function Name'] ?? node['CTE Name']
  const index = node['Index Name'] ? ` by ${node['Index Name']}` : ''
  return `${node['Node Type']}${of ? ` on ${of}` : ''}${index}`
}

const shownConditions = [
  'Index Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'Filter',
  'Sort Key',
  'Group Key',
  'Sort Method',
]

const detailOf = (node: Node) =>
  shownConditions
    .filter((name) => node[name] !== undefined)
    .map((name) => `${name}: ${[node[name]].flat().join(', ')}`)
    .join(' · ')

/** Signs of a slow plan: wrong estimates, many rows removed by a filter, sorts on disk. */
function warningsOf(node: Node): string[] {
  const warnings: string[] = []
  const { 'Plan Rows': expected, 'Actual Rows': actual } = node
  if (actual !== undefined) {
    const factor = Math.max((actual + 1) / (expected + 1), (expected + 1) / (actual + 1))
    if (factor >= 10 && Math.max(actual, expected) >= 100)
      warnings.push(`estimate off by a factor of ${Math.round(factor)}`)
  }
  const removed = Number(node['Rows Removed by Filter'] ?? 0)
  if (removed > 1000 && removed > 9 * (actual ?? 0))
    warnings.push(`${removed.toLocaleString('en-US')} rows removed by filter`)
  if (node['Sort Space Type'] === 'Disk') warnings.push('sorted on disk')
  return warnings
}
