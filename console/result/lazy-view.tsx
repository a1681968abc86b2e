import type { ComponentType } from 'preact'
import { Load, useLoaded } from '../parts/loading.tsx'
import type { CellPanelProps } from './cell/cell-panel.tsx'
import { loadMap } from './map/lazy-maps.tsx'
import { LoadMap } from './map-loading.tsx'
import type { Result } from './result.ts'
import type { ViewProps } from './view-props.ts'

type Loader = () => Promise<{ default: ComponentType<ViewProps> }>

/** A view whose code is loaded when it is opened. */
export function LazyView({ load, ...props }: ViewProps & Readonly<{ load: Loader }>) {
  const loaded = useLoaded(load, [load])
  const Loading = load === loadMap ? LoadMap : Load
  return <Loading from={loaded}>{({ default: View }) => <View {...props} />}</Loading>
}

export const loadChanges: Loader = () => import('./changes-view.tsx')
export const loadChart: Loader = () => import('./chart-view.tsx')
export const loadStatistics: Loader = () => import('./statistics/result-statistics.tsx')

const loadPlan = () => import('./plan/plan-view.tsx')

/** The plan of a statement. */
export function LazyPlan(props: Readonly<{ result: Result }>) {
  const loaded = useLoaded(loadPlan, [])
  return <Load from={loaded}>{({ default: PlanView }) => <PlanView {...props} />}</Load>
}

const loadCell = () => import('./cell/cell-panel.tsx')

/** The whole value of a cell. */
export function LazyCell(props: CellPanelProps) {
  const loaded = useLoaded(loadCell, [])
  return <Load from={loaded}>{({ default: CellPanel }) => <CellPanel {...props} />}</Load>
}
