import type { Geometry } from '../../geo/ewkb.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { LoadMap } from '../map-loading.tsx'

/** A result on a map. */
export const loadMap = () => ifMapsAreDrawn(() => import('./map-view.tsx'))

const loadSmallMap = () => ifMapsAreDrawn(() => import('./small-map.tsx'))

/** One shape on a small map. */
export function LazySmallMap(props: Readonly<{ shape: Geometry }>) {
  const loaded = useLoaded(loadSmallMap, [])
  return <LoadMap from={loaded}>{({ default: SmallMap }) => <SmallMap {...props} />}</LoadMap>
}

const loadTableMap = () => ifMapsAreDrawn(() => import('./table-map.tsx'))

/** A table of any size on a map. */
export function LazyTableMap(props: Readonly<{ schema: string; name: string }>) {
  const loaded = useLoaded(loadTableMap, [])
  return <LoadMap from={loaded}>{({ default: TableMap }) => <TableMap {...props} />}</LoadMap>
}

/** Loads a map only if the browser has WebGL 2. Without it MapLibre throws, which would break the page. */
async function ifMapsAreDrawn<T>(load: () => Promise<T>): Promise<T> {
  if (document.createElement('canvas').getContext('webgl2')) return load()
  throw new Error('This browser cannot draw maps: WebGL 2 is off or not supported.')
}
