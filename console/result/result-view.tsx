import { useEffect, useId, useState } from 'preact/hooks'
import { isOverTime } from '../api/api-error.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { useCommands } from '../parts/commands.ts'
import { Tabs, tabPanel } from '../parts/controls/tabs.tsx'
import { formatBytes, formatCount, formatDuration, formatTime, plural } from '../parts/format.ts'
import { Empty, ErrorNotice, Notice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { type DownloadFormat, startDownload } from './download.ts'
import { Grid } from './grid/grid.tsx'
import { SortNotice } from './grid/sort-notice.tsx'
import { LazyCell, LazyView, loadChanges, loadChart, loadStatistics } from './lazy-view.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { loadMap } from './map/lazy-maps.tsx'
import css from './result.css' with { type: 'text' }
import type { Result } from './result.ts'
import type { ResultLook, ResultViewName } from './result-look.ts'
import { ResultMenus } from './result-menus.tsx'
import type { ResultViewProps, ViewProps } from './view-props.ts'

adoptStyles(css)

/** A result with all its views. */
export function ResultView(props: ResultViewProps) {
  const { result, look, source } = props
  const id = useId()
  const [refusal, setRefusal] = useState<string | undefined>(undefined)
  const [isLinking, setLinking] = useState(false)
  const download = async (format: DownloadFormat) => {
    if (!source) return
    setRefusal(undefined)
    toast('The download starts when the first row arrives')
    const error = await startDownload(source, format)
    if (error) setRefusal(error)
  }
  const tabs = viewsOf(props)
  const view = tabs.some(({ name }) => name === look.view.value) ? look.view.value : 'grid'
  useViewCommands(tabs, look)
  return (
    <div class="result">
      <div class="result-bar">
        <Tabs
          id={id}
          label="Views of the result"
          tabs={tabs}
          chosen={view}
          choose={(name) => {
            look.view.value = name
          }}
        />
        <span class="grow" />
        <Summary {...props} />
        <ResultMenus
          {...{ result, look, download }}
          hasParams={source?.params !== undefined}
          why={source ? undefined : `The key ${props.asLabel} is not known here`}
          makeLink={source?.credential.token == null ? undefined : () => setLinking(true)}
          find={props.find}
        />
      </div>
      <div class="result-notices">
        <OutcomeNotice {...props} />
        <SortNotice {...props} />
        {refusal && <Notice kind="error">Download failed: {refusal}</Notice>}
        {isLinking && source && <LinkDialog source={source} close={() => setLinking(false)} />}
      </div>
      <div class="result-body">
        <div class="result-view" {...tabPanel(id, view)}>
          <Content view={view} result={result} look={look} source={source} earlier={props.earlier} />
        </div>
        {look.isOpen.value && view === 'grid' && (
          <LazyCell result={result} look={look} acts={props.cellActs} />
        )}
      </div>
    </div>
  )
}

type View = Readonly<{ name: ResultViewName; label: string }>

function useViewCommands(views: readonly View[], look: ResultLook): void {
  useCommands(
    views.map(({ name, label }, at) => ({
      name: `Show the result: ${label}`,
      keys: `Alt+${at + 1}`,
      run: () => {
        look.view.value = name
      },
    })),
  )
}

function viewsOf({ result, earlier = [] }: ResultViewProps): readonly View[] {
  const messages = messagesOf(result).length
  const { rows, columns } = result.progress.value
  const isComplete = result.state.value !== 'running' && rows > 0
  const numbers = columns.filter(({ type }) => type === 'number').length
  const has = (isIt: (type: string) => boolean) => isComplete && columns.some(({ type }) => isIt(type))
  return [
    { name: 'grid', label: 'Grid' },
    ...(has((type) => type === 'geometry') || (isComplete && numbers > 1)
      ? ([{ name: 'map', label: 'Map' }] as const)
      : []),
    ...(has((type) => type !== 'geometry') ? ([{ name: 'chart', label: 'Chart' }] as const) : []),
    ...(isComplete ? ([{ name: 'statistics', label: 'Statistics' }] as const) : []),
    { name: 'messages', label: messages > 0 ? `Messages (${messages})` : 'Messages' },
    ...(earlier.length > 0 ? ([{ name: 'changes', label: 'Changes' }] as const) : []),
  ]
}

function Content({ view, ...shown }: ViewProps & Readonly<{ view: ResultViewName }>) {
  const { result, look } = shown
  if (view === 'messages') return <Messages result={result} />
  if (view === 'map') return <LazyView load={loadMap} {...shown} />
  if (view === 'changes') return <LazyView load={loadChanges} {...shown} />
  if (view === 'chart') return <LazyView load={loadChart} {...shown} />
  if (view === 'statistics') return <LazyView load={loadStatistics} {...shown} />
  const { rows, columns } = result.progress.value
  if (columns.length > 0)
    return rows > 0 ? <Grid key={result.startedAt} result={result} look={look} /> : <NoRows result={result} />
  return result.state.value === 'done' ? <NoRows result={result} /> : null
}

function NoRows({ result }: Readonly<{ result: Result }>) {
  const { columns } = result.progress.value
  const outcome = result.outcome.value
  if (outcome?.kind !== 'done') return null
  if (columns.length > 0) return <Empty>No rows. Columns: {columns.map(({ name }) => name).join(', ')}</Empty>
  return <Empty>Done. {plural(outcome.totalRows, 'row')} affected.</Empty>
}

const warningsOf = ({ outcome }: Result) => (outcome.value?.kind === 'done' ? outcome.value.warnings : [])

const messagesOf = (result: Result) =>
  result.outcome.value?.kind === 'done' ? [...warningsOf(result), ...result.outcome.value.notices] : []

function Messages({ result }: Readonly<{ result: Result }>) {
  const messages = messagesOf(result)
  if (messages.length === 0) return <Empty>No messages from PostgreSQL.</Empty>
  return (
    <div class="messages">
      {messages.map((message, at) => (
        <pre key={at}>{message}</pre>
      ))}
    </div>
  )
}

function Summary({ result, asLabel, former }: ResultViewProps) {
  const { rows, bytes } = result.progress.value
  const ms = useElapsed(result)
  const isRunning = result.state.value === 'running'
  return (
    <span class="small muted" data-testid="summary">
      {isRunning && 'Running… '}
      {plural(rows, 'row')} · {formatBytes(bytes)} · {formatDuration(former?.ms ?? ms)} · as {asLabel}
      {former && ` · of ${formatTime(former.at)}`}
    </span>
  )
}

function useElapsed({ elapsedMs, startedAt }: Result): number {
  const [now, setNow] = useState(performance.now())
  const final = elapsedMs.value
  useEffect(() => {
    if (final !== undefined) return
    const timer = setInterval(() => setNow(performance.now()), 100)
    return () => clearInterval(timer)
  }, [final])
  return final ?? Math.max(0, now - startedAt)
}

function OutcomeNotice({ result, errorActs }: ResultViewProps) {
  const { rows } = result.progress.value
  const error = result.error.value
  if (error) {
    const limit = `Stopped by the service after ${formatDuration(result.elapsedMs.value ?? 0)}, its limit for one request.`
    return <ErrorNotice error={error} acts={errorActs} {...(isOverTime(error) ? { title: limit } : {})} />
  }
  if (result.state.value === 'stopped') {
    return (
      <Notice kind="warning">
        Stopped. {rows > 0 ? `${plural(rows, 'row')} arrived; there may be more.` : 'No rows arrived.'}
      </Notice>
    )
  }
  const [warning, ...others] = warningsOf(result)
  if (warning !== undefined) {
    return (
      <Notice kind="warning">
        {warning}
        {others.length > 0 && ` (${formatCount(others.length)} more under Messages)`}
      </Notice>
    )
  }
  if (result.state.value !== 'full') return null
  return (
    <Notice kind="warning" acts={errorActs}>
      Stopped at {formatCount(rows)} rows: the browser holds at most 512 MB. Use Download to get all rows.
    </Notice>
  )
}
