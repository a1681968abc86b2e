import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isAbort } from '../../api/api-error.ts'
import type { AccountFunction, CatalogColumn, CatalogTable } from '../../api/catalog.ts'
import { hrefOf, pathTo } from '../../parts/browser/route.ts'
import { formatBytes, plural } from '../../parts/format.ts'
import { useLoaded } from '../../parts/loading.tsx'
import {
  type FirstValues,
  isPreviewed,
  previewedColumns,
  readColumnFacts,
  readFirstValues,
  readFunctionComment,
  readTableFacts,
} from './preview-sql.ts'
import { estimatedRows, geometryKind, type SchemaItem } from './schema-lines.ts'

/** So that moving over the tree reads nothing. */
const restMs = 250

/** Facts about the line that the pointer or the focus is on, and the first rows of a table. */
export function SchemaPreview({ item }: Readonly<{ item: SchemaItem | undefined }>) {
  const rested = useRested(item)
  if (!item) return <Pane>Point at a table or column to preview it.</Pane>
  const isRested = rested === item
  switch (item.kind) {
    case 'table':
      return (
        <TablePreview
          key={`${item.table.schema}\n${item.table.name}`}
          table={item.table}
          isRested={isRested}
        />
      )
    case 'column':
      return <ColumnPreview {...item} isRested={isRested} />
    case 'function':
      return <FunctionPreview of={item.of} isRested={isRested} />
    case 'schema':
      return <Pane title={item.schema}>{plural(item.tables, 'table')} and views</Pane>
    case 'functions':
      return <Pane title="Functions">{plural(item.count, 'function')} of the account</Pane>
    default:
      return <Pane>Use the search to find the tables that are not listed.</Pane>
  }
}

function Pane({ title, children }: Readonly<{ title?: string; children: ComponentChildren }>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section class="schema-preview small" aria-label="Preview" tabIndex={0}>
      {title && <strong class="preview-name">{title}</strong>}
      {children}
    </section>
  )
}

/** The item, once it has stayed the same for a moment. */
function useRested(item: SchemaItem | undefined): SchemaItem | undefined {
  const [rested, rest] = useState<SchemaItem | undefined>(undefined)
  useEffect(() => {
    const timer = setTimeout(() => rest(item), restMs)
    return () => clearTimeout(timer)
  }, [item])
  return rested
}

type Rested = Readonly<{ isRested: boolean }>

function TablePreview({ table, isRested }: Rested & Readonly<{ table: CatalogTable }>) {
  const facts = useLoaded(
    async (signal) => (isRested ? await readTableFacts(table, signal) : undefined),
    [table, isRested],
  ).value
  const rows = estimatedRows(table)
  return (
    <Pane title={table.name}>
      <p class="muted">
        {[
          table.kind,
          geometryKind(table),
          rows !== undefined && `about ${plural(rows, 'row')}`,
          facts && facts.bytes > 0 && formatBytes(facts.bytes),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {facts?.comment && <p>{facts.comment}</p>}
      <p>
        <a href={hrefOf(pathTo('tables', table.schema, table.name))}>Open table</a>
      </p>
      {facts?.isOfAnother ? (
        <p class="muted">Belongs to another user. Its rows are read only when you ask.</p>
      ) : isPreviewed(table) ? (
        facts && <FirstRows table={table} />
      ) : (
        <p class="muted">The rows of a {table.kind} are not read unasked.</p>
      )}
    </Pane>
  )
}

function FirstRows({ table }: Readonly<{ table: CatalogTable }>) {
  const { value, error } = useLoaded((signal) => readFirstValues(table, signal), [table])
  const columns = previewedColumns(table)
  if (error !== undefined && !isAbort(error)) return <p class="muted">{String((error as Error).message)}</p>
  if (!value) return null
  if (columns.length === 0 || value.get(columns[0]!.name)?.length === 0)
    return <p class="muted">{columns.length === 0 ? 'No columns to show.' : 'No rows.'}</p>
  return (
    <dl class="first-rows">
      {columns.map(({ name }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Values values={value.get(name) ?? []} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Values({ values }: Readonly<{ values: FirstValues }>) {
  return (
    <>
      {values.map((text, at) => (
        <span key={at}>
          {at > 0 && ' · '}
          {text === null ? <i class="muted">NULL</i> : text}
        </span>
      ))}
    </>
  )
}

function FunctionPreview({ of, isRested }: Rested & Readonly<{ of: AccountFunction }>) {
  const comment = useLoaded(
    async (signal) => (isRested ? await readFunctionComment(of, signal) : undefined),
    [of, isRested],
  ).value
  return (
    <Pane title={of.name}>
      <code>
        {of.name}({of.arguments}) → {of.result}
      </code>
      {comment && <p>{comment}</p>}
    </Pane>
  )
}

type ColumnProps = Rested & Readonly<{ table: CatalogTable; column: CatalogColumn }>

function ColumnPreview({ table, column: { name, type }, isRested }: ColumnProps) {
  const facts = useLoaded(
    async (signal) => (isRested ? await readColumnFacts(table, name, signal) : undefined),
    [table, name, isRested],
  ).value
  return (
    <Pane title={name}>
      <p class="muted">
        {[type, facts && (facts.isNullable ? 'may be NULL' : 'never NULL'), `in ${table.name}`]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {facts?.fallback && (
        <p>
          Default <code>{facts.fallback}</code>
        </p>
      )}
      {facts?.comment && <p>{facts.comment}</p>}
    </Pane>
  )
}
