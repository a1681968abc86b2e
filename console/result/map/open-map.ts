import mapWorker from 'worker:maplibre-gl/dist/maplibre-gl-worker.mjs'
import {
  LngLatBounds,
  Map as MapLibre,
  NavigationControl,
  type StyleSpecification,
  setWorkerUrl,
} from 'maplibre-gl'
import mapCss from 'maplibre-gl/dist/maplibre-gl.css' with { type: 'text' }
import type { Box } from '../../geo/tile-sql.ts'
import { assetAddress } from '../../parts/browser/address.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { shownTheme } from '../../parts/browser/theme.ts'

adoptStyles(mapCss)
setWorkerUrl(assetAddress(mapWorker))

type MapHolder = HTMLElement & { map?: MapLibre }

/** Opens a map in an element and follows the theme. `restyled` is called after a change of theme, which resets filters. */
export function openMap(
  holder: MapHolder,
  style: () => StyleSpecification,
  bounds: Box,
  restyled: () => void = () => undefined,
): Readonly<{ map: MapLibre; close: () => void }> {
  const map = new MapLibre({
    container: holder,
    style: style(),
    bounds: LngLatBounds.convert(bounds as never),
    fitBoundsOptions: { padding: 40, maxZoom: 12 },
    attributionControl: false,
    dragRotate: false,
    maxPitch: 0,
  })
  map.addControl(new NavigationControl({ showCompass: false }))
  holder.map = map
  let drawn = shownTheme.peek()
  const unfollow = shownTheme.subscribe((theme) => {
    if (theme === drawn) return
    drawn = theme
    whenLoaded(map, () => {
      map.setStyle(style())
      whenLoaded(map, restyled)
    })
  })
  return {
    map,
    close: () => {
      unfollow()
      map.remove()
    },
  }
}

/** A style can be changed only once it is loaded. */
export function whenLoaded(map: MapLibre, change: () => void): void {
  if (map.isStyleLoaded()) change()
  else map.once('idle', change)
}
