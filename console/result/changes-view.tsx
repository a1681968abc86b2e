import { useState } from 'preact/hooks'
import { Choice } from '../parts/controls/choice.tsx'
import { formatBytes, formatCount, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import type { Result } from './result.ts'
import type { ViewProps } from './view-props.ts'
import {
  type ChangeKind,
  type Compared,
  type CompareKey,
  changeKinds,
  mostCompared,
  mostComparedBytes,
  type ResultColumn,
  type RowChange,
} from './worker/protocol.ts'

/** The rows added, removed or changed since an earlier run of the same statement. */
export default function ChangesView({ result, earlier = [] }: ViewProps) {
  const [id, choose] = useState(0)
  const [key, setKey] = useState<CompareKey | undefined>(undefined)
  const chosen = earlier.find((each) => each.id === id) ?? earlier[0]
  const { rows, bytes, columns } = result.progress.value
  const isTooMuch =
    chosen !== undefined &&
    (Math.max(rows, chosen.rows) > mostCompared || Math.max(bytes, chosen.bytes) > mostComparedBytes)
  const compared = useLoaded(async () => {
    if (!chosen || isTooMuch) return undefined
    return result.ask('compare', { before: await chosen.readAnswer(), key })
  }, [result, chosen?.id, key, isTooMuch])
  if (!chosen) return <Empty>The earlier result is gone.</Empty>
  return (
    <div class="changes">
      <div class="map-bar">
        <Choice
          label="Compared with"
          value={chosen.id}
          options={earlier.map(({ id: at, name }) => ({ at, name }))}
          choose={(at) => choose(at ?? 0)}
        />
        {compared.value && (
          <Choice
            label="Key"
            value={compared.value.key}
            options={compared.value.keys.map((at) => ({ at, name: columns[at]!.name }))}
            choose={setKey}
            none="none: whole rows"
          />
        )}
      </div>
      {isTooMuch ? (
        <Empty>
          Not compared: at most {formatCount(mostCompared)} rows and {formatBytes(mostComparedBytes)} are. Add
          a WHERE or a LIMIT to the statement.
        </Empty>
      ) : (
        <Load from={compared.isLoading ? { ...compared, value: undefined } : compared}>
          {(found) => found && <Changes {...{ result, columns, found }} />}
        </Load>
      )}
    </div>
  )
}

type ChangesProps = Readonly<{ result: Result; columns: readonly ResultColumn[]; found: Compared }>

const changesAtOnce = 200

function Changes({ result, columns, found }: ChangesProps) {
  const [kind, setKind] = useState<ChangeKind | 'all'>('all')
  const [count, setCount] = useState(changesAtOnce)
  const changes = useLoaded(
    () => result.ask('changes', { which: kind, from: 0, count }),
    [found, kind, count],
  )
  const all = changeKinds.reduce((sum, each) => sum + found.counts[each], 0)
  const total = kind === 'all' ? all : found.counts[kind]
  const keyName = found.key === null ? undefined : columns[found.key]!.name
  return (
    <>
      <Notes found={found} keyName={keyName} />
      <div class="row changes-kinds">
        {(['all', ...changeKinds] as const).map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={kind === each}
            onClick={() => {
              setKind(each)
              setCount(changesAtOnce)
            }}
          >
            {formatCount(each === 'all' ? all : found.counts[each])} {each === 'all' ? 'in all' : each}
          </button>
        ))}
        <span class="small muted">{plural(found.same, 'row')} the same</span>
      </div>
      <Load from={changes}>{(rows) => <List rows={rows} keyName={keyName} />}</Load>
      {total > count && (
        <p class="row">
          <button type="button" onClick={() => setCount(count + changesAtOnce)}>
            Show {formatCount(Math.min(changesAtOnce, total - count))} more
          </button>
          <span class="muted">{formatCount(total - count)} not shown</span>
        </p>
      )}
    </>
  )
}

function Notes({ found, keyName }: Readonly<{ found: Compared; keyName: string | undefined }>) {
  const { repeated, columnsAdded, columnsGone } = found
  return (
    <>
      {repeated.before + repeated.now > 0 && (
        <Notice kind="warning">
          {keyName} does not name one row each: {plural(repeated.before, 'row')} before and{' '}
          {formatCount(repeated.now)} now repeat the value of an earlier row. Rows of the same value are
          compared in their order.
        </Notice>
      )}
      {columnsAdded.length + columnsGone.length > 0 && (
        <Notice>
          {columnsAdded.length > 0 && `New columns: ${columnsAdded.join(', ')}. `}
          {columnsGone.length > 0 && `Columns that are gone: ${columnsGone.join(', ')}. `}
          They are not compared.
        </Notice>
      )}
    </>
  )
}

type ListProps = Readonly<{ rows: readonly RowChange[]; keyName: string | undefined }>

function List({ rows, keyName }: ListProps) {
  if (rows.length === 0) return <Empty>No row differs.</Empty>
  return (
    <table class="list changes-list" aria-label="Changes">
      <thead>
        <tr>
          <th scope="col">Change</th>
          {keyName !== undefined && <th scope="col">{keyName}</th>}
          <th scope="col">Values</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ kind, key, cells, cellsLeftOut }, at) => (
          <tr key={at} class={kind}>
            <td>
              <span class={`badge ${badges[kind]}`}>{kind}</span>
            </td>
            {keyName !== undefined && <td class="mono">{cut(key ?? null)}</td>}
            <td class="mono">
              {cells.map((cell, place) => (
                <div key={place}>
                  <span class="tree-name">{cell.name}: </span>
                  {cell.before !== undefined && <del>{cut(cell.before)}</del>}
                  {kind === 'changed' && ' → '}
                  {cell.now !== undefined && <ins>{cut(cell.now)}</ins>}
                </div>
              ))}
              {cellsLeftOut > 0 && <div class="muted">{plural(cellsLeftOut, 'more column')}</div>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const badges: Readonly<Record<ChangeKind, string>> = { added: 'good', gone: 'error', changed: 'warning' }

const longest = 120

function cut(value: string | null) {
  if (value === null) return <em class="muted">NULL</em>
  if (value === '') return <em class="muted">empty</em>
  return value.length > longest ? `${value.slice(0, longest)}…` : value
}
