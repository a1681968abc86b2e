import { useEffect, useState } from 'preact/hooks'
import type { KeyCredential } from '../../api/credential.ts'
import { narrowKeyName } from '../../api/narrow-key.ts'
import { session } from '../../api/session.ts'
import { packStatement } from '../../api/share.ts'
import { readRows } from '../../api/sql.ts'
import { readColumns, shownTable, type Table, type TableColumn } from '../../api/tables.ts'
import { navigate } from '../../parts/browser/route.ts'
import { CodeBlock } from '../../parts/code-block.tsx'
import { useCommands } from '../../parts/commands.ts'
import { formatCount, plural } from '../../parts/format.ts'
import { tell } from '../../parts/live.tsx'
import { useLoaded } from '../../parts/loading.tsx'
import { toast } from '../../parts/toast.tsx'
import { Result } from '../../result/result.ts'
import { ResultLook } from '../../result/result-look.ts'
import { ResultView } from '../../result/result-view.tsx'
import { hasVersions, versionsOf } from './change-rows.ts'
import { isSameVersion, type RowVersion, versionColumns } from './change-sql.ts'
import { editFocused, type OpenedAct, RowActs } from './row-acts.tsx'
import { RowFilters, TableFind } from './row-filters.tsx'
import { SlowFilter } from './slow-filter.tsx'
import { allRows, isNarrowed, type RowsStatement, statementOfRows, type WantedRows } from './wanted-rows.ts'

const mostRows = 10_000

type PreviewProps = Readonly<{ table: Table; who: KeyCredential }>

/** The first rows of a table, as they arrive. The database does finding, filtering and sorting, over all rows. */
export function Preview({ table, who }: PreviewProps) {
  const columns = useLoaded((signal) => readColumns(table, signal), [table.schema, table.name]).value ?? []
  const [wanted, want] = useState(allRows)
  const [again, readAgain] = useState<ReadAgain>({})
  const [opened, open] = useState<OpenedAct | undefined>(undefined)
  const shown = useShownRows({ table, who }, { wanted, want, again }, columns)
  const stop = () => shown?.result.stop()
  useCommands([{ name: 'Stop reading rows', keys: 'Ctrl+.', run: stop }])
  if (!shown) return null
  const { result, look, statement } = shown
  const focused = () => result.progress.peek().columns[look.selection.peek().focus.column]?.name
  return (
    <>
      <div class="row preview-bar">
        <Matches table={table} who={who} {...shown} />
        {result.state.value === 'running' && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <span class="grow" />
        <RowActs
          {...{ table, columns, opened, open }}
          read={shown}
          reread={(row) => readAgain(row ? { row } : {})}
        />
        <RowFilters columns={columns} wanted={wanted} want={want} focused={focused} />
        <button type="button" onClick={() => void openInEditor(statement)}>
          Open as SQL
        </button>
      </div>
      {statement.narrowedBy && <CodeBlock label="WHERE and ORDER BY" text={statement.narrowedBy} />}
      <SlowFilter
        {...{ table, columns, result }}
        filters={shown.wanted.filters}
        reread={() => readAgain({})}
      />
      <ResultView
        result={result}
        look={look}
        asLabel={
          who.token === null ? 'anonymous' : who.token === session.value?.token ? 'you' : narrowKeyName(table)
        }
        source={{ text: statement.whole, credential: who }}
        find={<TableFind wanted={wanted} want={want} />}
        cellActs={
          hasVersions(table) &&
          table.canUpdate && (
            <button type="button" onClick={() => void editFocused(shown, columns).then(open)}>
              Edit
            </button>
          )
        }
      />
    </>
  )
}

type ShownRows = Readonly<{
  result: Result
  look: ResultLook
  statement: RowsStatement
  wanted: WantedRows
}>

/** A new object reads the rows again and selects `row`. */
type ReadAgain = Readonly<{ row?: RowVersion }>

type Wanting = Readonly<{ wanted: WantedRows; want: (wanted: WantedRows) => void; again: ReadAgain }>

/** Reads the rows again when others are requested, and after a change. */
function useShownRows(
  { table, who }: PreviewProps,
  { wanted, want, again }: Wanting,
  columns: readonly TableColumn[],
): ShownRows | undefined {
  const [shown, show] = useState<ShownRows | undefined>(undefined)
  useEffect(() => {
    const statement = statementOfRows(table, wanted, columns, mostRows)
    const { params } = statement
    const unseen = hasVersions(table) ? versionColumns.length : 0
    const result = new Result(statement.text, who, params.length > 0 ? { params } : {}, undefined, unseen)
    const sort = (column: number) => want(sortedBy(wanted, result.progress.peek().columns[column]!.name))
    const look = new ResultLook(result, { sort, mostRows, former: shown?.look })
    const { order } = wanted
    const at = columns.findIndex(({ name }) => name === order?.column)
    if (order && at >= 0) look.order.value = { column: at, isDescending: order.isDescending }
    if (shown?.wanted === wanted) void keepSelection(shown.look, { result, look }, again)
    show({ result, look, statement, wanted })
    return () => result.drop()
  }, [who, table.schema, table.name, wanted, again])
  return shown
}

/** Selects the changed row, which may have moved, or else the former selection. */
async function keepSelection(
  former: ResultLook,
  { result, look }: Pick<ShownRows, 'result' | 'look'>,
  { row }: ReadAgain,
): Promise<void> {
  await result.ended
  const { rows } = result.progress.peek()
  if (result.state.peek() !== 'done' || rows === 0) return
  const { focus } = former.selection.peek()
  const versions = row ? await versionsOf(result, 0, rows - 1) : []
  const found = row ? versions.findIndex((version) => isSameVersion(version, row)) : -1
  if (row && found < 0) toast('The changed row is not among the shown ones')
  const place = { row: found >= 0 ? found : Math.min(focus.row, rows - 1), column: focus.column }
  look.select({ anchor: place, focus: place })
  // The grid of the former rows, which had the focus, is gone.
  requestAnimationFrame(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('[role="grid"]')?.focus()
  })
}

/** Cycles: ascending, descending, no order. */
function sortedBy(wanted: WantedRows, column: string): WantedRows {
  const isSame = wanted.order?.column === column
  const isLast = isSame && wanted.order?.isDescending
  return { ...wanted, order: isLast ? null : { column, isDescending: isSame } }
}

/** How many rows match. They are counted if there are more than the shown ones. */
function Matches({ table, who, result, statement, wanted }: PreviewProps & ShownRows) {
  const isNarrow = isNarrowed(wanted)
  const { rows } = result.progress.value
  const isDone = result.state.value === 'done'
  const isCut = isDone && rows >= mostRows
  const { count, params } = statement
  const counted = useLoaded(
    async (signal) =>
      isNarrow && isCut ? (await readRows<{ n: number }>(count, { params, as: who, signal }))[0]?.n : rows,
    [result, isCut, isDone],
  )
  const isKnown = isDone && isNarrow && !counted.isLoading && counted.error === undefined
  const matches = isKnown ? plural(counted.value ?? rows, 'row matches', 'rows match') : undefined
  useEffect(() => {
    if (matches) tell(matches)
  }, [matches])
  const all = `Shows up to ${formatCount(mostRows)} rows. Download includes all rows of ${shownTable(table)}.`
  return (
    <span class="muted small" data-testid="matches">
      {isNarrow ? (matches ?? whyUncounted(isCut, counted.error)) : all}
      {isNarrow && isCut && ` · the first ${formatCount(mostRows)} are shown, Download includes all`}
    </span>
  )
}

function whyUncounted(isCut: boolean, error: unknown): string {
  if (error !== undefined) return `More than ${formatCount(mostRows)} rows match: counting them failed`
  return isCut ? 'Counting the rows that match…' : 'Searching…'
}

async function openInEditor({ whole }: RowsStatement): Promise<void> {
  navigate(`/sql#s=${await packStatement(`${whole} limit 1000`)}`)
}
