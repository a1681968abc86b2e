import { hasMore, readEwkb, toLonLat } from '../../geo/ewkb.ts'
import { writeWkt } from '../../geo/wkt.ts'
import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { formatCount } from '../../parts/format.ts'
import { LazySmallMap } from '../map/lazy-maps.tsx'

const longestShown = 100_000

/** A geometry as WKT and on a small map, or as its text if it cannot be read. */
export function CellGeometry({ hex }: Readonly<{ hex: string }>) {
  const found = readEwkb(hex)
  if (!found) return <pre>{hex.slice(0, longestShown)}</pre>
  const wkt = writeWkt(found.geometry)
  const drawn = toLonLat(found)
  return (
    <>
      {drawn && <LazySmallMap key={hex} shape={drawn} />}
      <p class="small muted">
        SRID {found.srid}
        {hasMore(hex) && ' · Z and M are not shown. Copy EWKB includes them'}
        {!drawn && ' · only SRID 4326 and 3857 are drawn'}
      </p>
      <pre>{wkt.slice(0, longestShown)}</pre>
      <p>
        <CopyButton text={wkt} label="Copy WKT" />
      </p>
      {wkt.length > longestShown && (
        <p class="muted">{formatCount(wkt.length - longestShown)} more characters. Copy WKT includes all.</p>
      )}
      <details>
        <summary>EWKB (hex)</summary>
        <pre>{hex.slice(0, longestShown)}</pre>
      </details>
    </>
  )
}
