import { computed, signal } from '@preact/signals'
import type { ChartDefinition } from '../../src/contract/charts.ts'
import { toast } from '../parts/toast.tsx'
import type { CellPosition, CellSelection } from './grid/grid-selection.ts'
import type { Result } from './result.ts'
import type { ResultOrder } from './worker/protocol.ts'

export type ResultViewName = 'grid' | 'map' | 'chart' | 'statistics' | 'messages' | 'changes'

export type PointColumns = Readonly<{ x: number; y: number }>

/** More rows are sorted by the service. */
const mostSorted = 200_000

type LookOptions = Readonly<{
  /** Sorts all rows elsewhere, instead of the rows in the browser. */
  sort?: (column: number) => void
  /** The limit of rows of the statement. */
  mostRows?: number
  /** The look of an earlier result with the same columns. */
  former?: ResultLook | undefined
  chart?: ChartDefinition | undefined
  /** Called when the user has chosen another chart. */
  keepChart?: ((chart: ChartDefinition) => void) | undefined
}>

/** The view state of a result. It stays while another result is shown. */
export class ResultLook {
  readonly view = signal<ResultViewName>('grid')
  readonly selection = signal<CellSelection>({ anchor: { row: 0, column: 0 }, focus: { row: 0, column: 0 } })
  /** The cell to scroll to. */
  readonly focus = signal<CellPosition | undefined>(undefined)
  readonly order = signal<ResultOrder | null>(null)
  readonly isOpen = signal(false)
  /** The number columns that the map draws as longitude and latitude. */
  readonly points = signal<PointColumns | undefined>(undefined)
  /** Undefined until one is chosen. */
  readonly chart = signal<ChartDefinition | undefined>(undefined)
  /** The column of a requested sort that only the service can do. */
  readonly wantedOrder = signal<number | undefined>(undefined)
  /** Columns that the user has shown or hidden, by position. */
  readonly #chosen = signal<ReadonlyMap<number, boolean>>(new Map())
  /** The columns that the grid leaves out. */
  readonly hidden = computed<ReadonlySet<number>>(() => {
    const { columns } = this.#result.progress.value
    const isTwice = columns.some(({ name }) => name === 'the_geom')
    const isHidden = (name: string, at: number) =>
      !(this.#chosen.value.get(at) ?? !(isTwice && name === 'the_geom_webmercator'))
    return new Set(columns.flatMap(({ name }, at) => (isHidden(name, at) ? [at] : [])))
  })
  readonly #result: Result
  readonly #sortElsewhere: LookOptions['sort']
  readonly #mostRows: number
  readonly #keepChart: LookOptions['keepChart']
  #isReordered = false

  constructor(result: Result, { sort, mostRows, former, chart, keepChart }: LookOptions = {}) {
    this.#result = result
    this.#sortElsewhere = sort
    this.#mostRows = mostRows ?? Number.POSITIVE_INFINITY
    this.#keepChart = keepChart
    this.chart.value = chart ?? former?.chart.peek()
    if (!former) return
    this.view.value = former.view.peek()
    this.#chosen.value = former.#chosen.peek()
  }

  select(selection: CellSelection): void {
    this.selection.value = selection
    this.focus.value = selection.focus
  }

  /** At least one column stays. */
  toggleColumn(column: number): void {
    const { columns } = this.#result.progress.value
    const isShown = this.hidden.value.has(column)
    if (!isShown && this.hidden.value.size === columns.length - 1) return
    this.#chosen.value = new Map(this.#chosen.value).set(column, isShown)
  }

  showAllColumns(): void {
    this.#chosen.value = new Map(this.#result.progress.value.columns.map((_, at) => [at, true]))
  }

  chooseChart(chart: ChartDefinition): void {
    this.chart.value = chart
    this.#keepChart?.(chart)
  }

  open(): void {
    this.isOpen.value = true
  }

  /** Cycles: ascending, descending, original order. */
  async sortBy(column: number): Promise<void> {
    if (this.#sortElsewhere) return this.#sortElsewhere(column)
    const { rows } = this.#result.progress.value
    if (this.#result.state.value === 'running') return toast('Wait until all rows have arrived, then sort')
    if (rows > mostSorted || this.#result.state.value !== 'done') {
      this.wantedOrder.value = column
      return
    }
    const former = this.order.value
    const isSame = former?.column === column
    const next = isSame && former.isDescending ? null : { column, isDescending: isSame }
    await this.#result.ask('sort', { order: next })
    this.#isReordered = true
    this.order.value = next
  }

  async find(text: string): Promise<boolean> {
    const { row } = this.selection.value.focus
    const found = await this.#result.ask('find', { text, from: row + 1 })
    if (found && this.hidden.value.has(found.column)) this.toggleColumn(found.column)
    if (found) this.select({ anchor: found, focus: found })
    return found !== null
  }

  /** Whether rows are missing: the result was stopped, or reached its limit. */
  get isPart(): boolean {
    return this.#result.state.value !== 'done' || this.#result.progress.value.rows >= this.#mostRows
  }

  /** True once after the order changed. Cached rows are then invalid. */
  takeReordered(): boolean {
    const isReordered = this.#isReordered
    this.#isReordered = false
    return isReordered
  }
}
