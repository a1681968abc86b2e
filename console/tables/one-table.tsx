import { useId, useState } from 'preact/hooks'
import type { Credential, KeyCredential } from '../api/credential.ts'
import { credential, session } from '../api/session.ts'
import { readTables, shownTable, type Table, type TableId } from '../api/tables.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { Tabs, tabPanel } from '../parts/controls/tabs.tsx'
import { formatAge, formatBytes } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { LazyTableMap } from '../result/map/lazy-maps.tsx'
import { AccessView } from './access-view.tsx'
import { AskBeforeReading } from './ask-before-reading.tsx'
import { ColumnsView, RulesView } from './columns-view.tsx'
import { Preview } from './rows/preview.tsx'
import { StatisticsView } from './statistics/statistics-view.tsx'
import { TableActs } from './table-acts.tsx'
import { PrivacyBadge, rowsText } from './table-list.tsx'

const views = ['preview', 'columns', 'statistics', 'indexes', 'map', 'access'] as const
type View = (typeof views)[number]

export function OneTable({ id, view }: Readonly<{ id: TableId; view: string | undefined }>) {
  const tables = useLoaded(readTables, [session.value])
  return (
    <div class="table-page">
      <Load from={tables}>
        {(found) => {
          const table = found.find(({ schema, name }) => schema === id.schema && name === id.name)
          return table ? (
            <KnownTable table={table} view={view} reload={tables.reload} />
          ) : (
            <NoSuchTable {...id} />
          )
        }}
      </Load>
    </div>
  )
}

function NoSuchTable(id: TableId) {
  return (
    <Empty>
      <span>Table {shownTable(id)} was not found. It may have been dropped, or this key cannot see it.</span>
      <a class="button" href={hrefOf('/tables')}>
        All tables
      </a>
    </Empty>
  )
}

type KnownProps = Readonly<{ table: Table; view: string | undefined; reload: () => void }>

function KnownTable({ table, view, reload }: KnownProps) {
  const id = useId()
  const offered = views.filter((each) => each !== 'map' || table.geometry !== null)
  const chosen = offered.find((each) => each === view) ?? (table.isOfAnother ? 'columns' : 'preview')
  const choose = (next: View) => navigate(pathTo('tables', table.schema, table.name, next), { replace: true })
  return (
    <>
      <div class="table-head">
        <p class="small">
          <a href={hrefOf('/tables')}>Tables</a> /
        </p>
        <div class="row">
          <h1 class="name">{shownTable(table)}</h1>
          <PrivacyBadge {...table} />
          <span class="muted">
            {[
              table.kind,
              rowsText(table),
              formatBytes(table.bytes),
              table.changedAt && `changed ${formatAge(table.changedAt)}`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </div>
        {table.comment && <p class="muted">{table.comment}</p>}
        <TableActs table={table} reload={reload} />
        <Tabs
          id={id}
          label="Views of the table"
          tabs={offered.map((name) => ({ name, label: labels[name] }))}
          chosen={chosen}
          choose={choose}
        />
      </div>
      <div class="table-view" {...tabPanel(id, chosen)}>
        <Shown table={table} view={chosen} />
      </div>
    </>
  )
}

const keyOf = (who: Credential | null) => (who?.kind === 'key' ? who : null)

const labels = {
  preview: 'Preview',
  columns: 'Columns',
  statistics: 'Statistics',
  indexes: 'Indexes',
  map: 'Map',
  access: 'Access',
}

function Shown({ table, view }: Readonly<{ table: Table; view: View }>) {
  const own = keyOf(credential.value)
  const [reader, read] = useState<KeyCredential | null>(null)
  if (view === 'columns') return <ColumnsView table={table} />
  if (view === 'statistics') return <StatisticsView table={table} />
  if (view === 'indexes') return <RulesView table={table} />
  if (view === 'access') return <AccessView table={table} />
  const who = reader ?? (table.isOfAnother ? null : own)
  // The map always reads with the session's key.
  const isAgreed = view === 'map' ? who?.token === own?.token : who !== null
  if (!who || !isAgreed) return <AskBeforeReading table={table} view={view} read={read} />
  if (view === 'preview') return <Preview table={table} who={who} />
  return (
    <div class="table-map">
      <LazyTableMap schema={table.schema} name={table.name} />
    </div>
  )
}
