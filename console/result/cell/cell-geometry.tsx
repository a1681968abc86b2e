import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { formatCount } from '../../parts/format.ts'
import { LazySmallMap } from '../map/lazy-maps.tsx'
import type { CellShape } from '../worker/cell-shape.ts'

const longestShown = 50_000

type GeometryProps = Readonly<{
  hex: string
  /** Null if it cannot be read. */
  shape: CellShape | null
}>

/** A geometry as WKT and on a small map, or as its text if it cannot be read. */
export function CellGeometry({ hex, shape }: GeometryProps) {
  if (!shape) return <pre>{hex.slice(0, longestShown)}</pre>
  const { wkt } = shape
  return (
    <>
      {shape.drawn && <LazySmallMap key={hex} shape={shape.drawn.shape} />}
      <p class="small muted">{describe(shape)}</p>
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

function describe({ srid, hasMore, points, drawn }: CellShape): string {
  const parts = [`SRID ${srid}`]
  if (hasMore) parts.push('Z and M are not shown. Copy EWKB includes them')
  if (!drawn) parts.push('only SRID 4326 and 3857 are drawn')
  else if (drawn.points < points)
    parts.push(`drawn with ${formatCount(drawn.points)} of ${formatCount(points)} points`)
  return parts.join(' · ')
}
