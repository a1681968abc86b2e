import mapWorker from 'worker:maplibre-gl/dist/maplibre-gl-worker.mjs'
import { type Map as MapLibre, setWorkerUrl } from 'maplibre-gl'
import mapCss from 'maplibre-gl/dist/maplibre-gl.css' with { type: 'text' }
import { assetAddress } from '../../parts/browser/address.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'

// Whoever opens a map imports this file.
adoptStyles(mapCss)
setWorkerUrl(assetAddress(mapWorker))

/** A style can be changed only once it is loaded. */
export function whenLoaded(map: MapLibre, change: () => void): void {
  if (map.isStyleLoaded()) change()
  else map.once('idle', change)
}
