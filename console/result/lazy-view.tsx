import type { ComponentType } from 'preact'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ifMapsAreDrawn } from './drawing.ts'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

type ViewProps = Readonly<{ result: Result; look: ResultLook }>
type Loader = () => Promise<{ default: ComponentType<ViewProps> }>

/** A view whose code is loaded when it is opened. */
export function LazyView({ load, ...props }: ViewProps & Readonly<{ load: Loader }>) {
  const loaded = useLoaded(load, [load])
  return <Load from={loaded}>{({ default: View }) => <View {...props} />}</Load>
}

export const loadMap: Loader = () => ifMapsAreDrawn(() => import('./map-view.tsx'))
export const loadChart: Loader = () => import('./chart-view.tsx')

const loadTableMap = () => ifMapsAreDrawn(() => import('./table-map.tsx'))

/** A table of any size on a map. */
export function LazyTableMap(props: Readonly<{ schema: string; name: string }>) {
  const loaded = useLoaded(loadTableMap, [])
  return <Load from={loaded}>{({ default: TableMap }) => <TableMap {...props} />}</Load>
}
