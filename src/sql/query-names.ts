import { quoteName } from '../contract/text/quote.ts'
import { pageableStatement } from './query-kind.ts'

/** The names in a query on which its rows depend, as `cartodb._CDB_QueryVersion` takes them. */
export type QueryNames = Readonly<{
  /** Quoted. */
  relations: readonly string[]
  /** Quoted. Each may be a table, or a WITH of the query. */
  optional: readonly string[]
  functions: readonly string[]
  operators: readonly string[]
  /** Members of rows: columns, or functions that are called like a column. */
  members: readonly string[]
}>

/**
 * Undefined if the grammar alone shows that the query may give other rows each time, or if it has a node outside the
 * list of known nodes: CURRENT_TIMESTAMP, TABLESAMPLE, FOR UPDATE and others.
 */
export function namesInQuery(text: string): QueryNames | undefined {
  const statement = pageableStatement(text)
  if (!statement) return undefined
  const found = new NameCollector()
  try {
    return found.read({ SelectStmt: statement.node }) ? found.names() : undefined
  } catch (error) {
    // A tree may be deeper than the stack.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

class NameCollector {
  readonly #relations = new Set<string>()
  readonly #unqualified = new Set<string>()
  readonly #withs = new Set<string>()
  readonly #functions = new Set<string>()
  readonly #operators = new Set<string>()
  readonly #members = new Set<string>()

  names(): QueryNames {
    const own = [...this.#unqualified]
    return {
      relations: [
        ...this.#relations,
        ...own.filter((name) => !this.#withs.has(name)).map((name) => quoteName(name)),
      ],
      optional: own.filter((name) => this.#withs.has(name)).map((name) => quoteName(name)),
      functions: [...this.#functions],
      operators: [...this.#operators],
      members: [...this.#members],
    }
  }

  /** False if it must not be read further. */
  read(value: unknown): boolean {
    if (Array.isArray(value)) return value.every((each) => this.read(each))
    if (typeof value !== 'object' || value === null) return true
    return Object.entries(value).every(([key, content]) =>
      /^[A-Z]/.test(key) ? this.#node(key, content as Content) : this.read(content),
    )
  }

  #node(tag: string, node: Content): boolean {
    switch (tag) {
      case 'RangeVar':
        if (node.schemaname === undefined) this.#unqualified.add(String(node.relname))
        else this.#relations.add(`${quoteName(String(node.schemaname))}.${quoteName(String(node.relname))}`)
        return true
      case 'CommonTableExpr':
        this.#withs.add(String(node.ctename))
        break
      case 'FuncCall':
        this.#functions.add(lastOf(node.funcname))
        return this.read(node.args) && this.read([node.agg_filter, node.agg_order, node.over])
      case 'A_Expr':
        this.#operators.add(lastOf(node.name))
        return this.read([node.lexpr, node.rexpr])
      case 'SubLink':
        if (node.operName) this.#operators.add(lastOf(node.operName))
        return this.read([node.subselect, node.testexpr])
      case 'ColumnRef':
        this.#members.add(lastOf(node.fields))
        return true
      case 'A_Indirection':
        for (const step of (node.indirection as unknown[]) ?? []) this.#members.add(lastOf([step]))
        break
      case 'TypeCast':
        return isSteadyCast(node) && this.read(node.arg)
      case 'A_Const':
        return !movingTimes.test((node.sval as Content | undefined)?.sval?.toString() ?? '')
      default:
        if (!steadyNodes.has(tag)) return false
    }
    return this.read(node)
  }
}

type Content = Readonly<Record<string, unknown>>

/** `[{ String: { sval } }]`, as the grammar writes names. */
function lastOf(names: unknown): string {
  const last = Array.isArray(names) ? names.at(-1) : undefined
  return String((last as { String?: { sval?: string } } | undefined)?.String?.sval ?? '')
}

/** PostgreSQL reads them as the time of the statement, where a literal becomes a date. */
const movingTimes = /now|today|tomorrow|yesterday/i

/** A text that is computed may be `now`. */
function isSteadyCast({ typeName, arg }: Content): boolean {
  const type = lastOf((typeName as Content | undefined)?.names)
  return steadyTypes.has(type) || (timeTypes.has(type) && 'A_Const' in (arg as Content))
}

/** Their input does not depend on the time, nor on names. */
const steadyTypes: ReadonlySet<string> = new Set([
  ...['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'text', 'varchar', 'bpchar', 'uuid'],
  ...['interval', 'geometry'],
])
const timeTypes: ReadonlySet<string> = new Set(['date', 'timestamp', 'timestamptz', 'time'])

const steadyNodes: ReadonlySet<string> = new Set([
  ...[
    'SelectStmt',
    'ResTarget',
    'WithClause',
    'Alias',
    'RangeSubselect',
    'RangeFunction',
    'JoinExpr',
    'List',
  ],
  ...['SortBy', 'WindowDef', 'GroupingSet', 'BoolExpr', 'NullTest', 'BooleanTest', 'CaseExpr', 'CaseWhen'],
  ...['CoalesceExpr', 'MinMaxExpr', 'A_ArrayExpr', 'A_Indices', 'A_Star', 'RowExpr', 'CollateClause'],
  ...['NamedArgExpr', 'String', 'Integer', 'Float', 'Boolean'],
])
