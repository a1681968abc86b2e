import type { ComponentChildren } from 'preact'
import { Load, type Loaded } from '../parts/loading.tsx'

/** Shown over a map, or in its place, until it is complete. */
export function MapLoading() {
  return (
    <p class="map-loading" role="status">
      Loading the map…
    </p>
  )
}

/** Like Load, and says that a map is loading. */
export function LoadMap<T>({
  from,
  children,
}: Readonly<{ from: Loaded<T>; children: (value: T) => ComponentChildren }>) {
  if (from.value === undefined && from.error === undefined) return <MapLoading />
  return <Load from={from}>{children}</Load>
}
