import { useEffect, useRef } from 'preact/hooks'
import type { Geometry } from '../../geo/ewkb.ts'
import { boundsOf, type Shape } from '../../geo/shapes.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { useLoaded } from '../../parts/loading.tsx'
import { LoadMap } from '../map-loading.tsx'
import css from '../result.css' with { type: 'text' }
import { readWorld, resultStyle } from './map-style.ts'
import { openMap } from './open-map.ts'

adoptStyles(css)

/** One shape on a map of the world. */
export default function SmallMap({ shape }: Readonly<{ shape: Geometry }>) {
  const world = useLoaded(readWorld, [])
  return <LoadMap from={world}>{(countries) => <Drawn world={countries} shape={shape} />}</LoadMap>
}

function Drawn({ world, shape }: Readonly<{ world: object; shape: Geometry }>) {
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const feature: Shape = { type: 'Feature', id: 0, geometry: shape, properties: {} }
    return openMap(holder.current!, () => resultStyle(world, [feature], undefined), boundsOf(shape)).close
  }, [world, shape])
  return <div class="map small-map" ref={holder} />
}
