import mapWorker from 'worker:maplibre-gl/dist/maplibre-gl-worker.mjs'
import { type Map as MapLibre, setWorkerUrl } from 'maplibre-gl'
import mapCss from 'maplibre-gl/dist/maplibre-gl.css' with { type: 'text' }
import { assetAddress } from '../../parts/browser/address.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { workerQuery } from '../ground/operator-style.ts'

// Every module that opens a map imports this file.
adoptStyles(mapCss)
setWorkerUrl(assetAddress(mapWorker) + workerQuery)

/** Changes a style as soon as its layers are known. */
export function whenStyled(map: MapLibre, change: () => void): void {
  // Undefined until then.
  if (map.getStyle() as unknown) change()
  else map.once('style.load', change)
}

/** Changes a style when everything it draws is loaded. */
export function whenLoaded(map: MapLibre, change: () => void): void {
  if (map.isStyleLoaded()) change()
  else map.once('idle', change)
}
