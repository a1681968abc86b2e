import { useEffect, useState } from 'preact/hooks'
import { session } from '../api/session.ts'
import { readTables, shownTable, type TableId } from '../api/tables.ts'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import type { DraftLayer, Kind } from './draft-layer.ts'
import { describeSql, tableSql } from './layer-data.ts'
import { deepest } from './layer-style.ts'
import type { MapBox } from './map-draft.ts'
import { categoryColours } from './ramps.ts'

type AddLayerProps = Readonly<{
  ids: readonly string[]
  /** A table that is added at once. */
  table: TableId | undefined
  add: (layer: DraftLayer, bounds: MapBox | undefined) => void
}>

/** Adds a layer from a table or a query. */
export function AddLayer({ ids, table, add }: AddLayerProps) {
  const tables = useLoaded(readTables, [session.value])
  const [from, setFrom] = useState('')
  const [query, setQuery] = useState('')
  const { isBusy, error, begin } = useWork()
  const addFrom = (sql: string, title: string) =>
    begin(async () => {
      const { columns, bounds, ...data } = await describeSql(sql, new AbortController().signal)
      const layer = newLayer(sql, title, ids, data)
      const popup = columns.map(({ name }) => name).filter((name) => name !== 'cartodb_id')
      add({ ...layer, popup: popup.slice(0, 8) }, bounds)
      setFrom('')
      setQuery('')
    })
  useEffect(() => {
    if (table) void addFrom(tableSql(table), table.name)
  }, [])
  const drawn = (tables.value ?? []).filter(({ geometry, isOfAnother }) => geometry !== null && !isOfAnother)
  const isQuery = from === 'query'
  const start = () => {
    const found = drawn.find((each) => shownTable(each) === from)
    if (isQuery) void addFrom(query, 'query')
    else if (found) void addFrom(tableSql(found), found.name)
  }
  return (
    <div class="panel stack">
      <SelectField
        label="Add a layer from"
        value={from}
        choose={setFrom}
        options={[['', 'Choose a table or a query'], ['query', 'A query (SQL)'], ...drawn.map(shownTable)]}
      />
      {isQuery && (
        <Field label="Query" help="A SELECT with a geometry column">
          {(props) => (
            <textarea
              {...props}
              class="mono"
              rows={4}
              spellcheck={false}
              value={query}
              onInput={({ currentTarget }) => setQuery(currentTarget.value)}
            />
          )}
        </Field>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row">
        <button
          type="button"
          disabled={isBusy || from === '' || (isQuery && query.trim() === '')}
          onClick={start}
        >
          {isBusy ? 'Adding…' : 'Add layer'}
        </button>
      </div>
    </div>
  )
}

type Data = Readonly<{ geomColumn: string; srid: number; kind: Kind }>

function newLayer(sql: string, title: string, ids: readonly string[], data: Data): DraftLayer {
  const base = title.replaceAll(',', ' ').slice(0, 60)
  const used = (id: string) => ids.includes(id)
  const id = used(base)
    ? `${base} ${[...ids, ''].findIndex((_, at) => !used(`${base} ${at + 2}`)) + 2}`
    : base
  return {
    ...data,
    id,
    title: title.slice(0, 100),
    sql,
    colour: { by: 'one', colour: categoryColours[ids.length % categoryColours.length]! },
    size: { point: 5, line: 2, area: 0.7 }[data.kind],
    opacity: data.kind === 'area' ? 0.7 : 0.9,
    label: '',
    minzoom: 0,
    maxzoom: deepest,
    popup: [],
  }
}
