import { formatDuration, plural } from '../../../src/contract/text/format.ts'
import { costsBelow, type OwnCosts } from './own-costs.ts'
import { type PlanNode, textIn } from './plan-node.ts'

/** One node of a plan, as a line of a tree. Children follow their parent. */
export type PlanLine = Readonly<{
  level: number
  /** Its position among the children of its parent, from 1, and their number. */
  position: number
  size: number
  hasChildren: boolean
  title: string
  detail: string
  /** What the planner expects the node to cost, children included. */
  startCost: number
  cost: number
  /** In all loops. */
  expectedRows: number
  /** Has the largest self time. */
  isSlowest?: boolean
  /** Only in a plan of EXPLAIN ANALYZE. */
  met?: OwnCosts & Readonly<{ rows: number; loops: number; share: number }>
  warnings: readonly string[]
}>

export type Plan = Readonly<{
  lines: readonly PlanLine[]
  /** Total times, and times of triggers. */
  facts: readonly string[]
  /** As PostgreSQL wrote it. */
  text: string
}>

/** Without a node: a rule replaced the statement by one without a plan. */
type Document = Readonly<{
  Plan?: PlanNode
  'Execution Time'?: number
  'Planning Time'?: number
  JIT?: Readonly<{ Timing?: Readonly<{ Total?: number }> }>
  Triggers?: readonly Readonly<Record<string, unknown>>[]
}>

/** Reads the output of EXPLAIN (FORMAT JSON). Rules can turn one statement into several. */
export function readPlan(text: string): Plan {
  const documents = JSON.parse(text) as readonly Document[]
  const lines = documents.flatMap(({ Plan: root }) => (root ? linesOf(root) : []))
  return { lines: markSlowest(lines), facts: documents.flatMap(factsOf), text: inLines(text) }
}

/**
 * The service writes a row of JSON as one line, with a space for each line break in a value. In the plan each line
 * break came before an indentation.
 */
const inLines = (text: string) =>
  text.includes('\n')
    ? text
    : text.replace(/"(?:[^"\\]|\\.)*"| {2,}| (?=\]$)/g, (found) =>
        found.startsWith('"') ? found : `\n${found.slice(1)}`,
      )

function markSlowest(lines: readonly PlanLine[]): readonly PlanLine[] {
  const most = Math.max(...lines.map(({ met }) => met?.ms ?? 0))
  const at = lines.findIndex(({ met }) => most > 0 && met?.ms === most)
  return lines.map((line, place) => (place === at ? { ...line, isSlowest: true } : line))
}

function factsOf(document: Document): string[] {
  const ran = document['Execution Time']
  const planned = document['Planning Time']
  const compiled = document.JIT?.Timing?.Total
  const triggers = (document.Triggers ?? []).map((trigger) => {
    const name = trigger['Trigger Name'] ?? trigger['Constraint Name']
    return `Trigger ${name} on ${trigger.Relation}: ${formatDuration(Number(trigger.Time))}, ${plural(Number(trigger.Calls), 'call')}.`
  })
  return [
    ...(ran === undefined ? [] : [`Executed in ${formatDuration(ran)}.`]),
    ...(planned === undefined ? [] : [`Planned in ${formatDuration(planned)}.`]),
    ...(compiled === undefined ? [] : [`Compiled (JIT) in ${formatDuration(compiled)}.`]),
    ...triggers,
  ]
}

function linesOf(root: PlanNode): PlanLine[] {
  const costs = costsBelow(root)
  const wholeMs = [...costs.values()].reduce((sum, { ms }) => sum + ms, 0)
  return below(root, 1, 1, 1)

  function below(node: PlanNode, level: number, position: number, size: number): PlanLine[] {
    const children = node.Plans ?? []
    const own = costs.get(node)
    const loops = node['Actual Loops']
    const line: PlanLine = {
      level,
      position,
      size,
      hasChildren: children.length > 0,
      title: titleOf(node),
      detail: detailOf(node),
      startCost: node['Startup Cost'],
      cost: node['Total Cost'],
      expectedRows: node['Plan Rows'] * (loops || 1),
      ...(own &&
        loops !== undefined && {
          met: {
            ...own,
            loops,
            rows: Math.round((node['Actual Rows'] ?? 0) * loops),
            share: wholeMs > 0 ? own.ms / wholeMs : 0,
          },
        }),
      warnings: warningsOf(node),
    }
    return [line, ...children.flatMap((child, at) => below(child, level + 1, at + 1, children.length))]
  }
}

function titleOf(node: PlanNode): string {
  const kind = [node['Parallel Aware'] && 'Parallel', node['Node Type'], joinOf(node)]
    .filter(Boolean)
    .join(' ')
  const of = textIn(node, 'Relation Name') ?? textIn(node, 'Function Name') ?? textIn(node, 'CTE Name')
  const alias = textIn(node, 'Alias')
  const index = textIn(node, 'Index Name')
  const part = textIn(node, 'Subplan Name')
  return [
    part && `${part}:`,
    kind,
    of && `on ${of}`,
    of && alias && alias !== of && `as ${alias}`,
    index && `by ${index}`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Inner joins, and updates of the only table, are not mentioned. */
function joinOf(node: PlanNode): string | undefined {
  const join = textIn(node, 'Join Type')
  if (join !== undefined) return join === 'Inner' ? undefined : `(${join})`
  const operation = textIn(node, 'Operation')
  return operation && `(${operation})`
}

const shownConditions = [
  'Index Cond',
  'Recheck Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'Filter',
  'Sort Key',
  'Presorted Key',
  'Group Key',
  'Cache Key',
  'Sort Method',
  'One-Time Filter',
  'Subplans Removed',
]

const detailOf = (node: PlanNode) =>
  shownConditions
    .filter((name) => node[name] !== undefined && node[name] !== 0)
    .map((name) => `${name}: ${[node[name]].flat().join(', ')}`)
    .join(' · ')

/** Signs of a slow plan: wrong estimates, many rows removed by a filter, sorts and hashes on disk, missing workers. */
function warningsOf(node: PlanNode): string[] {
  const warnings: string[] = []
  const { 'Plan Rows': expected, 'Actual Rows': actual, 'Actual Loops': loops } = node
  if (loops === 0) return ['never run']
  if (actual !== undefined) {
    const factor = Math.max((actual + 1) / (expected + 1), (expected + 1) / (actual + 1))
    if (factor >= 10 && Math.max(actual, expected) >= 100)
      warnings.push(`estimate off by a factor of ${Math.round(factor)}`)
  }
  const removed = Number(node['Rows Removed by Filter'] ?? 0)
  if (removed > 1000 && removed > 9 * (actual ?? 0))
    warnings.push(`${removed.toLocaleString('en-US')} rows removed by filter`)
  if (node['Sort Space Type'] === 'Disk') warnings.push('sorted on disk')
  if (Number(node['Hash Batches'] ?? 1) > 1) warnings.push('hashed on disk')
  const workers = Number(node['Workers Planned'] ?? 0)
  const launched = Number(node['Workers Launched'] ?? workers)
  if (launched < workers) warnings.push(`${launched} of ${workers} workers`)
  return warnings
}
