import {
  FullscreenControl,
  type LngLatBoundsLike,
  Map as MapLibre,
  NavigationControl,
  type RequestTransformFunction,
  ScaleControl,
  type StyleSpecification,
} from 'maplibre-gl'
import type { MapPageMetadata, StyleDocument } from '../../../src/contract/documents.ts'
import { Ground, withoutGround } from '../ground/ground.ts'
import { whenStyled } from '../map/maplibre-setup.ts'
import { showPopups } from './popups.ts'

type Theme = 'light' | 'dark'

type ShownMapEvents = Readonly<{
  styled: (document: StyleDocument) => void
  /** Called with the attributions of the basemap, as HTML. */
  credited: (attributions: readonly string[]) => void
  /** Called with a message for the viewer; empty for none. */
  failed: (text: string) => void
  loading: (isLoading: boolean) => void
  /** Called after a move by the user. */
  moved: (box: readonly [number, number, number, number]) => void
}>

export type OpenedMap = Readonly<{ show: (theme: Theme) => void; close: () => void }>

/** Opens a map in an element as soon as its style is loaded. `show` draws it for a theme. */
export function openShownMap(
  holder: HTMLElement & { map?: MapLibre },
  style: (theme: Theme) => Promise<StyleDocument>,
  transformRequest: RequestTransformFunction | undefined,
  events: ShownMapEvents,
): OpenedMap {
  let map: MapLibre | undefined
  let isClosed = false
  let wanted: Theme | undefined
  const theme = () => wanted ?? 'light'
  let ground: Ground | undefined
  const draw = (document: StyleDocument) => {
    events.styled(document)
    events.failed('')
    if (map) return replaceStyle(map, ground!, document, theme)
    map = makeMap(holder, document, transformRequest)
    ground = new Ground(map, events.credited)
    holder.map = map
    listen(map, ground, events)
    showPopups(map)
    if (hasWorld(document)) ground.show(specOf(document), theme())
  }
  const show = (next: Theme) => {
    wanted = next
    style(next).then(
      (document) => isClosed || wanted !== next || draw(document),
      () => isClosed || events.failed('This map cannot be loaded.'),
    )
  }
  const close = () => {
    isClosed = true
    ground?.hide()
    map?.remove()
  }
  return { show, close }
}

const replaceStyle = (map: MapLibre, ground: Ground, document: StyleDocument, theme: () => Theme) =>
  whenStyled(map, () => {
    if (hasWorld(document)) return ground.replace(specOf(document), theme())
    ground.hide()
    map.setStyle(specOf(document))
  })

const hasWorld = ({ metadata }: StyleDocument) => (metadata.cartage as MapPageMetadata).basemap === 'world'

const specOf = (document: StyleDocument) => document as unknown as StyleSpecification

const openedWith = (document: StyleDocument) =>
  hasWorld(document) ? withoutGround(specOf(document)) : specOf(document)

function makeMap(
  container: HTMLElement,
  document: StyleDocument,
  transformRequest: RequestTransformFunction | undefined,
): MapLibre {
  const { bounds } = document.metadata.cartage as MapPageMetadata
  const map = new MapLibre({
    container,
    style: openedWith(document),
    ...(bounds && {
      bounds: bounds as LngLatBoundsLike,
      fitBoundsOptions: { padding: paddingIn(container), maxZoom: 15 },
    }),
    attributionControl: false,
    dragRotate: false,
    maxPitch: 0,
    ...(transformRequest && { transformRequest }),
    locale: { 'Map.Title': 'Map. Arrow keys move it, + and − zoom, Enter shows what is in the middle.' },
  })
  map.addControl(new NavigationControl({ showCompass: false }))
  if (globalThis.document.fullscreenEnabled)
    map.addControl(new FullscreenControl({ container: container.parentElement! }))
  map.addControl(new ScaleControl({ maxWidth: 100 }), 'bottom-right')
  map.touchZoomRotate.disableRotation()
  return map
}

/** So that neither the title nor the legend covers the data. */
const paddingIn = ({ clientWidth }: HTMLElement) =>
  clientWidth < 800
    ? { top: 70, right: 20, bottom: 50, left: 20 }
    : { top: 40, right: 60, bottom: 40, left: 340 }

function listen(map: MapLibre, ground: Ground, { failed, loading, moved }: ShownMapEvents): void {
  map.on('dataloading', () => loading(true))
  map.on('idle', () => loading(false))
  // The service's errors about its tables are not shown to the viewer.
  map.on('error', (event) => ground.tells(event) || failed('A part of this map cannot be loaded.'))
  map.on('movestart', () => failed(''))
  map.on('moveend', (event) => {
    if (!(event as { originalEvent?: Event }).originalEvent) return
    const [[west, south], [east, north]] = map.getBounds().toArray() as [[number, number], [number, number]]
    moved([west, south, east, north])
  })
}
