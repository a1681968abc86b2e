import type { View } from '../../maps/named/view.ts'
import type { Bounds } from '../../tiles/describe-layers.ts'
import { rounded } from '../tiles/document.ts'

type Camera = Readonly<{ center: readonly [number, number]; zoom: number }>

/** Where a map begins: as its view says, else so that the bounds fit on a screen of common size. */
export function cameraOf(
  { center, zoom }: Pick<View, 'center' | 'zoom'>,
  bounds: Bounds | undefined,
): Camera {
  if (center) return { center, zoom: zoom ?? 2 }
  if (!bounds) return { center: [0, 20], zoom: zoom ?? 1 }
  const [west, south, east, north] = bounds
  return {
    center: [rounded((west + east) / 2), rounded(latitude((mercator(south) + mercator(north)) / 2))],
    zoom: zoom ?? zoomOf(bounds),
  }
}

function zoomOf([west, south, east, north]: Bounds): number {
  const width = Math.max((east - west) / 360, smallest)
  const height = Math.max((mercator(north) - mercator(south)) / (2 * Math.PI), smallest)
  const fitting = Math.min(
    Math.log2(screen.width / pixels / width),
    Math.log2(screen.height / pixels / height),
  )
  return Math.round(Math.max(0, Math.min(deepest, fitting)) * 100) / 100
}

/** Inside its edges. */
const screen = { width: 800, height: 500 }
/** The width of the world at zoom 0. */
const pixels = 512
/** One point has no size. */
const smallest = 1e-9
const deepest = 14

const mercator = (degrees: number) => {
  const limited = Math.max(-85, Math.min(85, degrees))
  return Math.log(Math.tan(Math.PI / 4 + (limited * Math.PI) / 360))
}
const latitude = (y: number) => (Math.atan(Math.sinh(y)) * 180) / Math.PI
