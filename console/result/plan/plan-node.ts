/** A node as EXPLAIN (FORMAT JSON) writes it. */
export type PlanNode = Readonly<Record<string, unknown>> &
  Readonly<{
    'Node Type': string
    'Startup Cost': number
    'Total Cost': number
    'Plan Rows': number
    'Actual Rows'?: number
    'Actual Loops'?: number
    'Actual Total Time'?: number
    Plans?: readonly PlanNode[]
  }>

export function textIn(node: PlanNode, member: string): string | undefined {
  const value = node[member]
  return typeof value === 'string' ? value : undefined
}
