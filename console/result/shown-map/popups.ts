import { type MapGeoJSONFeature, type Map as MapLibre, type Point, Popup } from 'maplibre-gl'
import type { MapPageMetadata } from '../../../src/contract/documents.ts'

/** Shows the values of the feature that is clicked, or with Enter those at the middle of the map. */
export function showPopups(map: MapLibre): void {
  let popup: Popup | undefined
  const ask = (x: number, y: number, reach: number, isByKeyboard: boolean) => {
    popup?.remove()
    const found = featureAt(map, x, y, reach)
    if (!found) return
    popup = new Popup({ maxWidth: 'min(320px, calc(100vw - 40px))', focusAfterOpen: isByKeyboard })
      .setLngLat(map.unproject([x, y]))
      .setDOMContent(contentOf(found.feature, found.columns))
      .addTo(map)
    if (isByKeyboard) popup.on('close', () => map.getCanvas().focus())
  }
  map.on('click', ({ point: { x, y } }) => ask(x, y, 4, false))
  map.getCanvas().addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    // Otherwise this key would also press the popup's close button, which has the focus then.
    event.preventDefault()
    const { clientWidth, clientHeight } = map.getCanvas()
    ask(clientWidth / 2, clientHeight / 2, 20, true)
  })
  map.getContainer().addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') popup?.remove()
  })
  map.on('mousemove', ({ point: { x, y } }: { point: Point }) => {
    map.getCanvas().style.cursor = featureAt(map, x, y, 2) ? 'pointer' : ''
  })
}

type Found = Readonly<{ feature: MapGeoJSONFeature; columns: readonly string[] }>

/** The topmost feature with a popup. It is found as soon as it is drawn, while other tiles are loading. */
function featureAt(map: MapLibre, x: number, y: number, reach: number): Found | undefined {
  const style = map.getStyle()
  const popup = (style?.metadata as { cartage?: MapPageMetadata } | undefined)?.cartage?.popup ?? {}
  const layers = (style?.layers ?? [])
    .filter((layer) => 'source' in layer && Object.hasOwn(popup, layer.source as string))
    .map(({ id }) => id)
  if (layers.length === 0) return undefined
  const box: [[number, number], [number, number]] = [
    [x - reach, y - reach],
    [x + reach, y + reach],
  ]
  const [feature] = map.queryRenderedFeatures(box, { layers })
  return feature && { feature, columns: popup[feature.source]! }
}

function contentOf({ properties }: MapGeoJSONFeature, columns: readonly string[]): HTMLElement {
  const list = document.createElement('dl')
  list.className = 'map-values'
  for (const column of columns) {
    const [name, value] = [document.createElement('dt'), document.createElement('dd')]
    name.textContent = column
    value.append(shownValue(properties[column]))
    list.append(name, value)
  }
  return list
}

/** Numbers in the form people read. A web address becomes a link. */
function shownValue(value: unknown): Node {
  if (value === undefined || value === null || value === '') return document.createTextNode('–')
  if (typeof value === 'number') return document.createTextNode(numbers.format(value))
  const text = String(value)
  if (!/^https?:\/\/\S+$/.test(text)) return document.createTextNode(text)
  const link = document.createElement('a')
  Object.assign(link, { href: text, textContent: text, target: '_blank', rel: 'noopener noreferrer' })
  return link
}

const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6, useGrouping: true })
