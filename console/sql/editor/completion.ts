import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { PostgreSQL, type SQLNamespace, sql } from '@codemirror/lang-sql'
import type { Extension } from '@codemirror/state'
import { namesIn, statementAt } from '../../../src/sql-text/statements.ts'
import { type Catalog, type CatalogTable, readFunctions } from '../../api/catalog.ts'
import { shownName } from '../../api/sql.ts'

/** Completes keywords, schemas, tables, columns (with or without table or alias) and functions. */
export function sqlLanguage(catalog: Catalog): Extension {
  const language = sql({
    dialect: PostgreSQL,
    schema: namespaceOf(catalog),
    ...(catalog.searchPath[0] ? { defaultSchema: catalog.searchPath[0] } : {}),
  })
  return [
    language,
    PostgreSQL.language.data.of({
      autocomplete: (context: CompletionContext) => bareColumns(catalog, context),
    }),
    PostgreSQL.language.data.of({ autocomplete: functionsAt }),
  ]
}

function namespaceOf({ tables }: Catalog): SQLNamespace {
  // No prototype: a schema or table may be named __proto__.
  const schemas: Record<string, Record<string, SQLNamespace>> = Object.create(null)
  for (const table of tables) {
    schemas[table.schema] ??= Object.create(null)
    schemas[table.schema]![table.name] = {
      self: { label: table.name, apply: shownName(table.name), detail: table.kind, type: 'type' },
      children: table.columns.map(columnCompletion),
    }
  }
  return schemas
}

const columnCompletion = ({ name, type }: Readonly<{ name: string; type: string }>): Completion => ({
  label: name,
  apply: shownName(name),
  detail: type,
  type: 'property',
  boost: 2,
})

/** Columns without a prefix, of the tables that the statement names. */
function bareColumns({ tables, searchPath }: Catalog, context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_$]*/u)
  if (!word && !context.explicit) return null
  const from = word?.from ?? context.pos
  if (context.state.sliceDoc(Math.max(0, from - 1), from) === '.') return null
  const statement = statementAt(context.state.doc.toString(), context.pos)?.text ?? ''
  const named = namesIn(statement)
  const found = tables.filter(({ name, schema }) => named.has(name.toLowerCase()) && isInReach(schema))
  if (found.length === 0) return null
  return { from, options: uniqueColumns(found), validFor: /^[\p{L}\p{N}_$]*$/u }

  function isInReach(schema: string): boolean {
    return searchPath.includes(schema) || named.has(schema.toLowerCase())
  }
}

function uniqueColumns(tables: readonly CatalogTable[]): Completion[] {
  const columns = new Map<string, Completion>()
  for (const table of tables) {
    for (const column of table.columns) {
      columns.set(column.name, { ...columnCompletion(column), detail: `${column.type} · ${table.name}` })
    }
  }
  return [...columns.values()]
}

async function functionsAt(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]+/u)
  if (!word || context.state.sliceDoc(word.from - 1, word.from) === '.') return null
  const functions = await readFunctions()
  const options = functions.map(
    ({ name, arguments: taken, result }): Completion => ({
      label: name,
      type: 'function',
      detail: `(${taken.length > 60 ? `${taken.slice(0, 59)}…` : taken}) ${result}`,
      apply: (view, _completion, from, to) => {
        const insert = `${shownName(name)}()`
        view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length - 1 } })
      },
      boost: -1,
    }),
  )
  return { from: word.from, options, validFor: /^[\p{L}\p{N}_]*$/u }
}
