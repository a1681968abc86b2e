import type { AccountFunction, Catalog, CatalogColumn, CatalogTable } from '../../api/catalog.ts'
import { shownName } from '../../api/sql.ts'

/** What a line of the schema stands for. */
export type SchemaItem =
  | Readonly<{ kind: 'schema'; schema: string; tables: number }>
  | Readonly<{ kind: 'table'; table: CatalogTable }>
  | Readonly<{ kind: 'column'; table: CatalogTable; column: CatalogColumn }>
  | Readonly<{ kind: 'functions'; count: number }>
  | Readonly<{ kind: 'function'; of: AccountFunction }>
  | Readonly<{ kind: 'more'; count: number }>

/** One visible line of the tree. */
export type SchemaLine = Readonly<{
  id: string
  level: number
  label: string
  item: SchemaItem
  /** Undefined if it has nothing below it. */
  isOpen: boolean | undefined
  position: number
  size: number
}>

export type SchemaView = Readonly<{
  search: string
  /** The lines that the user has opened or closed. */
  toggled: ReadonlySet<string>
}>

/** More of one kind below a line are left out; the search finds them. */
export const mostOfAKind = 200
/** A page with more is slow. */
const mostLines = 2_000

/** The visible lines of the tree, from top to bottom: neither closed nor outside the search. */
export function schemaLines(catalog: Catalog, { search, toggled }: SchemaView): readonly SchemaLine[] {
  const wanted = search.trim().toLowerCase()
  const matches = (name: string) => name.toLowerCase().includes(wanted)
  const isOpen = (id: string, isUsual: boolean) => isUsual !== toggled.has(id)
  const schemas = schemasOf(catalog)
    .map((schema) => schemaBranch(catalog, schema))
    .filter(({ hasBelow }) => wanted === '' || hasBelow)
  return cutLines(linesOf(cut(schemas, ''), 1))

  function schemaBranch({ tables: all, functions }: Catalog, schema: string): Branch {
    const tables = all
      .filter((table) => table.schema === schema)
      .map(tableBranch)
      .filter(isFound)
    const called = functions.filter((each) => each.schema === schema && matches(each.name))
    const id = JSON.stringify([schema])
    const below = () => [...cut(tables, id), ...functionsBranch(schema, called)]
    const hasBelow = tables.length + called.length > 0
    const item = { kind: 'schema', schema, tables: tables.length } as const
    const isUsual = wanted !== '' || catalog.searchPath.includes(schema)
    return { id, label: schema, item, hasBelow, below, isOpen: isOpen(id, isUsual) }
  }

  function tableBranch(table: CatalogTable): Branch & { isFound: boolean } {
    const id = JSON.stringify([table.schema, table.name])
    const isNamed = matches(table.name)
    // A table found by its name shows all its columns.
    const columns = isNamed ? table.columns : table.columns.filter(({ name }) => matches(name))
    const below = () => columns.map((column) => columnBranch(table, column))
    return {
      id,
      label: table.name,
      item: { kind: 'table', table },
      hasBelow: columns.length > 0,
      below: () => cut(below(), id),
      isOpen: isOpen(id, !isNamed),
      isFound: isNamed || columns.length > 0,
    }
  }

  function functionsBranch(schema: string, found: readonly AccountFunction[]): Branch[] {
    if (found.length === 0) return []
    const id = JSON.stringify([schema, 'functions', null])
    const below = () => found.map((of) => functionBranch(schema, of))
    const item = { kind: 'functions', count: found.length } as const
    const lines = () => cut(below(), id)
    return [{ id, label: 'Functions', item, hasBelow: true, below: lines, isOpen: isOpen(id, wanted !== '') }]
  }
}

const columnBranch = (table: CatalogTable, column: CatalogTable['columns'][number]): Branch => ({
  id: JSON.stringify([table.schema, table.name, column.name]),
  label: column.name,
  item: { kind: 'column', table, column },
})

const functionBranch = (schema: string, of: AccountFunction): Branch => ({
  id: JSON.stringify([schema, 'functions', of.oid]),
  label: of.name,
  item: { kind: 'function', of },
})

type Branch = Readonly<{
  id: string
  label: string
  item: SchemaItem
  hasBelow?: boolean
  /** Called only if it is open. */
  below?: () => readonly Branch[]
  isOpen?: boolean
}>

const isFound = (branch: Readonly<{ isFound: boolean }>) => branch.isFound

/** The schemas of the search path first. */
function schemasOf({ searchPath, tables, functions }: Catalog): readonly string[] {
  const others = [...tables, ...functions].map(({ schema }) => schema).sort()
  return [...new Set([...searchPath.filter((schema) => others.includes(schema)), ...others])]
}

function cut(branches: readonly Branch[], parent: string): readonly Branch[] {
  const count = branches.length - mostOfAKind
  if (count <= 0) return branches
  const more: Branch = { id: `${parent} more`, label: '', item: { kind: 'more', count } }
  return [...branches.slice(0, mostOfAKind), more]
}

function linesOf(branches: readonly Branch[], level: number): readonly SchemaLine[] {
  return branches.flatMap(({ hasBelow, below, isOpen = false, ...branch }, at) => [
    {
      ...branch,
      level,
      isOpen: hasBelow ? isOpen : undefined,
      position: at + 1,
      size: branches.length,
    },
    ...(isOpen && below ? linesOf(below(), level + 1) : []),
  ])
}

function cutLines(lines: readonly SchemaLine[]): readonly SchemaLine[] {
  const count = lines.length - mostLines
  if (count <= 0) return lines
  const item = { kind: 'more', count } as const
  const more = { id: 'more', level: 1, label: '', item, isOpen: undefined, position: 1, size: 1 }
  return [...lines.slice(0, mostLines), more]
}

/** What a click inserts: a name as SQL, with its schema if it is not on the search path. */
export function insertedText(item: SchemaItem, catalog: Catalog): string {
  switch (item.kind) {
    case 'schema':
      return shownName(item.schema)
    case 'table':
      return reachedName(item.table, catalog)
    case 'column':
      return shownName(item.column.name)
    case 'function':
      return `${catalog.searchPath.includes(item.of.schema) ? '' : `${shownName(item.of.schema)}.`}${shownName(item.of.name)}()`
    default:
      return ''
  }
}

function reachedName({ schema, name }: CatalogTable, { searchPath, tables }: Catalog): string {
  const holds = (path: string) => tables.some((table) => table.schema === path && table.name === name)
  const isReached = searchPath.find(holds) === schema
  return isReached ? shownName(name) : `${shownName(schema)}.${shownName(name)}`
}

/** `Point` for a table with a column `geometry(Point,4326)`; undefined without a geometry. */
export function geometryKind({ columns }: CatalogTable): string | undefined {
  const shapes = columns.filter(({ type }) => /^(geometry|geography)\b/.test(type))
  const shape = shapes.find(({ name }) => name === 'the_geom') ?? shapes[0]
  return shape && (/^geo\w+\((\w+)/.exec(shape.type)?.[1] ?? shape.type)
}

/** PostgreSQL's estimate; undefined if it has none, as for a view. */
export const estimatedRows = ({ rows, kind }: CatalogTable): number | undefined =>
  rows < 0 || (kind === 'view' && rows === 0) ? undefined : Math.round(rows)
