import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ChartDefinition } from '../../../src/contract/charts.ts'
import type { DashboardDocument, DashboardPart } from '../../../src/contract/dashboards.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { formatTime } from '../../parts/format.ts'
import { Empty } from '../../parts/notice.tsx'
import { defaultTexts, FilterFields } from './filter-fields.tsx'
import type { FilterTexts } from './read-part.ts'
import css from './shown-dashboard.css' with { type: 'text' }
import { ShownPart } from './shown-part.tsx'
import { useRounds } from './use-rounds.ts'

adoptStyles(css)

export type Drawable = Pick<DashboardDocument, 'filters' | 'parts' | 'queries' | 'refresh_seconds'>

type ShownDashboardProps = Readonly<{
  account: string
  dashboard: Drawable
  /** Initial values of filters that differ from the defaults. */
  texts?: FilterTexts
  changed?: (texts: FilterTexts) => void
  /** Shown in place of the parts if there are none. */
  empty?: ComponentChildren
  /**
   * Shown beside the title of a part in the editor. Parts then keep their order in the document, so that the focus
   * stays.
   */
  acts?: (part: DashboardPart) => ComponentChildren
  changeChart?: (part: DashboardPart, chart: ChartDefinition) => void
}>

/** The filters and parts of a dashboard. Each part is read separately. */
export function ShownDashboard({ account, dashboard, acts, empty, ...given }: ShownDashboardProps) {
  const { filters, parts, queries } = dashboard
  const [chosen, choose] = useState<FilterTexts>(given.texts ?? {})
  const [seconds, setSeconds] = useState(dashboard.refresh_seconds)
  const { round, readAt, refresh } = useRounds(seconds)
  const texts = { ...defaultTexts(filters), ...chosen }
  const change = (next: FilterTexts) => {
    choose(next)
    given.changed?.(next)
  }
  return (
    <>
      <div class="dashboard-bar">
        <FilterFields filters={filters} texts={texts} change={change} />
        <div class="dashboard-refresh">
          <span class="small muted">Read at {formatTime(readAt).slice(11)}</span>
          <RefreshChoice seconds={seconds} first={dashboard.refresh_seconds} choose={setSeconds} />
          <button type="button" onClick={refresh}>
            Refresh
          </button>
        </div>
      </div>
      {parts.length === 0 && <Empty>{empty ?? 'This dashboard has no parts yet.'}</Empty>}
      <div class="dashboard-grid">
        {(acts ? parts : inOrder(parts)).map((part) => (
          <ShownPart
            key={part.id}
            {...{ account, part, queries, texts, round }}
            {...(acts && { acts: acts(part) })}
            changeChart={given.changeChart && ((chart) => given.changeChart!(part, chart))}
          />
        ))}
      </div>
    </>
  )
}

/** From the top left, which is the order for the keyboard and on a narrow screen. */
const inOrder = (parts: readonly DashboardPart[]) =>
  parts.toSorted((one, other) => one.y - other.y || one.x - other.x)

type RefreshProps = Readonly<{
  seconds: number | null
  first: number | null
  choose: (seconds: number | null) => void
}>

function RefreshChoice({ seconds, first, choose }: RefreshProps) {
  return (
    <SelectField
      label="Refresh"
      value={seconds === null ? '' : String(seconds)}
      options={refreshOptions(first)}
      choose={(value) => choose(value === '' ? null : Number(value))}
    />
  )
}

/** As choices, with one more if it is not among the usual ones. */
export function refreshOptions(other: number | null): (readonly [value: string, shown: string])[] {
  const known = [10, 30, 60, 300, 3_600]
  const all = other === null || known.includes(other) ? known : [...known, other].sort((a, b) => a - b)
  return [['', 'by hand'], ...all.map((each) => [String(each), `every ${shownSeconds(each)}`] as const)]
}

function shownSeconds(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`
}
