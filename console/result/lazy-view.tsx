import type { ComponentType } from 'preact'
import type { Geometry } from '../geo/ewkb.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { LoadMap } from './map-loading.tsx'
import type { Result, ResultSource } from './result.ts'
import type { ResultLook } from './result-look.ts'

/** `source`: the statement, and the key that ran it. */
export type ViewProps = Readonly<{
  result: Result
  look: ResultLook
  source: ResultSource | undefined
  earlier?: readonly EarlierResult[] | undefined
}>

/** The result of an earlier run of the same statement. */
export type EarlierResult = Readonly<{
  id: number
  /** Its number, age, rows and key. */
  name: string
  rows: number
  bytes: number
  readAnswer: () => Promise<Blob>
}>

type Loader = () => Promise<{ default: ComponentType<ViewProps> }>

/** A view whose code is loaded when it is opened. */
export function LazyView({ load, ...props }: ViewProps & Readonly<{ load: Loader }>) {
  const loaded = useLoaded(load, [load])
  const Loading = load === loadMap ? LoadMap : Load
  return <Loading from={loaded}>{({ default: View }) => <View {...props} />}</Loading>
}

export const loadMap: Loader = () => ifMapsAreDrawn(() => import('./map/map-view.tsx'))
export const loadChanges: Loader = () => import('./changes-view.tsx')
export const loadChart: Loader = () => import('./chart-view.tsx')

const loadPlan = () => import('./plan/plan-view.tsx')

/** The plan of a statement. */
export function LazyPlan(props: Readonly<{ result: Result }>) {
  const loaded = useLoaded(loadPlan, [])
  return <Load from={loaded}>{({ default: PlanView }) => <PlanView {...props} />}</Load>
}

/** Loads a map only if the browser has WebGL 2. Without it MapLibre throws, which would break the page. */
async function ifMapsAreDrawn<T>(load: () => Promise<T>): Promise<T> {
  if (document.createElement('canvas').getContext('webgl2')) return load()
  throw new Error('This browser cannot draw maps: WebGL 2 is off or not supported.')
}

const loadSmallMap = () => ifMapsAreDrawn(() => import('./map/small-map.tsx'))

/** One shape on a small map. */
export function LazySmallMap(props: Readonly<{ shape: Geometry }>) {
  const loaded = useLoaded(loadSmallMap, [])
  return <LoadMap from={loaded}>{({ default: SmallMap }) => <SmallMap {...props} />}</LoadMap>
}

const loadTableMap = () => ifMapsAreDrawn(() => import('./map/table-map.tsx'))

/** A table of any size on a map. */
export function LazyTableMap(props: Readonly<{ schema: string; name: string }>) {
  const loaded = useLoaded(loadTableMap, [])
  return <LoadMap from={loaded}>{({ default: TableMap }) => <TableMap {...props} />}</LoadMap>
}
