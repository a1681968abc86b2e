import { hasMore, readEwkb, toLonLat } from '../geo/ewkb.ts'
import { writeWkt } from '../geo/wkt.ts'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ifMapsAreDrawn } from './drawing.ts'

const longestShown = 100_000

/** A geometry as WKT and on a small map; what is none that can be read stays its text. */
export function CellGeometry({ hex }: Readonly<{ hex: string }>) {
  const found = readEwkb(hex)
  if (!found) return <pre>{hex.slice(0, longestShown)}</pre>
  const wkt = writeWkt(found.geometry)
  const drawn = toLonLat(found)
  return (
    <>
      {drawn && <SmallMap key={hex} shape={drawn} />}
      <p class="small muted">
        SRID {found.srid}
        {hasMore(hex) && ' · Z and M are not shown: Copy has them, as EWKB'}
        {!drawn && ' · drawn are 4326 and 3857'}
      </p>
      <pre>{wkt.slice(0, longestShown)}</pre>
      {wkt.length > longestShown && (
        <p class="muted">
          and {formatCount(wkt.length - longestShown)} characters more: Copy has all, as EWKB
        </p>
      )}
    </>
  )
}

type SmallMapProps = Readonly<{ shape: NonNullable<ReturnType<typeof toLonLat>> }>

const load = () => ifMapsAreDrawn(() => import('./small-map.tsx'))

function SmallMap(props: SmallMapProps) {
  const loaded = useLoaded(load, [])
  return <Load from={loaded}>{({ default: View }) => <View {...props} />}</Load>
}
