import type { Map as MapLibre, StyleSpecification } from 'maplibre-gl'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { whenStyled } from '../map/maplibre-setup.ts'
import { placesCredit, showPlaces } from '../map/places.ts'
import css from './ground.css' with { type: 'text' }
import {
  hasOperatorStyle,
  type OperatorStyle,
  readOperatorStyle,
  styleAddress,
  stylePrefix,
} from './operator-style.ts'

adoptStyles(css)

/** Prefix of the ids of everything in a basemap. */
const groundPrefix = 'basemap:'

const isOperators = (id: string) => id.startsWith(stylePrefix)

/**
 * The style to open a map with: the data first. An operator's basemap is loaded later, in place of the built-in one.
 */
export const withoutGround = (style: StyleSpecification): StyleSpecification =>
  hasOperatorStyle
    ? {
        ...style,
        sources: Object.fromEntries(
          Object.entries(style.sources).filter(([id]) => !id.startsWith(groundPrefix)),
        ),
        layers: style.layers.filter(({ id, type }) => type === 'background' || !id.startsWith(groundPrefix)),
      }
    : style

/**
 * The basemap of a map: the operator's style, or the built-in one with names of places. If the operator's cannot be
 * loaded, the built-in one is drawn and the map says so.
 */
export class Ground {
  readonly #map: MapLibre
  readonly #credited: (attributions: readonly string[]) => void
  #stopped = new AbortController()
  #theme: 'light' | 'dark' = 'light'
  /** The map's style without the operator's. */
  #own: StyleSpecification | undefined
  /** The address of the operator's style that is drawn, or that failed. */
  #drawn: string | undefined
  #failed: string | undefined
  /** The operator's style is added, but nothing of it is drawn yet. */
  #isPending = false
  /** MapLibre is checking a part of the operator's style and leaves out errors. */
  #isChecking = false

  /** `credited`: called with the attributions of the basemap, as HTML. */
  constructor(map: MapLibre, credited: (attributions: readonly string[]) => void) {
    this.#map = map
    this.#credited = credited
  }

  /** Draws the basemap of a map that was opened with `withoutGround(own)`. */
  show(own: StyleSpecification, theme: 'light' | 'dark'): void {
    this.hide()
    const address = styleAddress(theme)
    this.#theme = theme
    this.#own = own
    if (address === undefined) {
      this.#showPlaces()
      return
    }
    const { signal } = this.#stopped
    const fail = () => {
      if (signal.aborted) return
      this.#failed = address
      this.#isPending = false
      whenStyled(this.#map, () => signal.aborted || this.#showOwn(this.#own!))
    }
    const add = async (style: OperatorStyle) => {
      if (signal.aborted) return
      this.#drawn = address
      this.#follow(signal, fail)
      await addStyle(this.#map, style, signal, (add) => this.#check(add))
      if (!this.#map.getLayersOrder().some(isOperators)) fail()
    }
    readOperatorStyle(address, signal).then(
      (style) => whenStyled(this.#map, () => void add(style).catch(fail)),
      fail,
    )
  }

  /** Gives the map another style. The drawn basemap stays if the theme is the same. */
  replace(own: StyleSpecification, theme: 'light' | 'dark'): void {
    const address = styleAddress(theme)
    this.#theme = theme
    this.#own = own
    if (address !== undefined && this.#failed === address) {
      this.#map.setStyle(own)
      showPlaces(this.#map, () => this.#theme)
    } else if (address !== undefined && this.#drawn === address) {
      this.#map.setStyle(withGroundOf(this.#map, withoutGround(own)))
    } else {
      this.#map.setStyle(withoutGround(own))
      this.show(own, theme)
    }
  }

  /** Call it before a style with another basemap, and when the map is closed. */
  hide(): void {
    this.#stopped.abort()
    this.#stopped = new AbortController()
    this.#drawn = undefined
    this.#failed = undefined
    this.#isPending = false
    this.#note('')
    this.#credited([])
  }

  /** Whether this basemap reports an error of the map. */
  tells(event: object): boolean {
    return this.#isChecking || (this.#isPending && isOfOperator(event))
  }

  #check(add: () => void): void {
    this.#isChecking = true
    try {
      add()
    } finally {
      this.#isChecking = false
    }
  }

  #showPlaces(): void {
    showPlaces(this.#map, () => this.#theme)
    this.#credited([placesCredit])
  }

  /** Fails on an error of a source before the first tile is loaded. Later errors concern single tiles. */
  #follow(signal: AbortSignal, fail: () => void): void {
    this.#isPending = true
    const map = this.#map
    const failed = (event: object) => {
      if (!isOfOperator(event)) return
      map.off('error', failed)
      map.off('sourcedata', told)
      fail()
    }
    const told = (event: { sourceDataType?: string; tile?: unknown }) => {
      if (!isOfOperator(event)) return
      if (event.sourceDataType === 'metadata') this.#credited(attributionsOf(map))
      if (event.tile === undefined) return
      this.#isPending = false
      map.off('error', failed)
    }
    map.on('error', failed)
    map.on('sourcedata', told)
    signal.addEventListener('abort', () => {
      map.off('error', failed)
      map.off('sourcedata', told)
    })
  }

  #showOwn(own: StyleSpecification): void {
    const map = this.#map
    removeStyle(map)
    const above = lowestOfData(map)
    for (const [id, source] of Object.entries(own.sources))
      if (id.startsWith(groundPrefix) && !map.getSource(id)) map.addSource(id, source)
    for (const layer of own.layers)
      if (layer.id.startsWith(groundPrefix) && !map.getLayer(layer.id)) map.addLayer(layer, above)
    this.#showPlaces()
    this.#note('The basemap of this service cannot be loaded. Countries are drawn instead.')
  }

  /** Shown on the map; empty removes it. */
  #note(text: string): void {
    const holder = this.#map.getContainer()
    const shown = holder.querySelector('.map-note') ?? document.createElement('div')
    shown.className = 'map-note'
    shown.setAttribute('role', 'status')
    if (!shown.isConnected && text !== '') holder.append(shown)
    shown.textContent = text
  }
}

const isOfOperator = (event: object) => isOperators(String((event as { sourceId?: unknown }).sourceId ?? ''))

const lowestOfData = (map: MapLibre) => map.getLayersOrder().find((id) => !id.startsWith(groundPrefix))

/** In slices, because MapLibre checks each layer. */
async function addStyle(
  map: MapLibre,
  { sources, layers, glyphs, sprite }: OperatorStyle,
  signal: AbortSignal,
  check: (add: () => void) => void,
): Promise<void> {
  check(() => {
    if (glyphs !== undefined) map.setGlyphs(glyphs)
    if (sprite !== undefined) map.setSprite(sprite as string)
    for (const [id, source] of sources) map.addSource(id, source)
  })
  const above = lowestOfData(map)
  let sliceEnds = performance.now() + sliceMs
  for (const layer of layers) {
    if (performance.now() > sliceEnds) {
      await new Promise((resolve) => setTimeout(resolve))
      sliceEnds = performance.now() + sliceMs
    }
    if (signal.aborted) return
    if (!('source' in layer) || map.getSource(layer.source as string)) check(() => map.addLayer(layer, above))
  }
}

const sliceMs = 12

function removeStyle(map: MapLibre): void {
  for (const id of map.getLayersOrder().filter(isOperators)) map.removeLayer(id)
  for (const id of Object.keys(map.getStyle().sources).filter(isOperators)) map.removeSource(id)
  map.setGlyphs(null)
  map.setSprite(null)
}

/** The style with the operator's basemap that the map has now. */
function withGroundOf(map: MapLibre, style: StyleSpecification): StyleSpecification {
  const { sources, layers, glyphs, sprite } = map.getStyle()
  const isGround = ({ id }: Readonly<{ id: string }>) => id.startsWith(groundPrefix)
  return {
    ...style,
    ...(glyphs !== undefined && { glyphs }),
    ...(sprite !== undefined && { sprite }),
    sources: {
      ...Object.fromEntries(Object.entries(sources).filter(([id]) => isOperators(id))),
      ...style.sources,
    },
    layers: [
      ...style.layers.filter(isGround),
      ...layers.filter(({ id }) => isOperators(id)),
      ...style.layers.filter((layer) => !isGround(layer)),
    ],
  }
}

const attributionsOf = (map: MapLibre): readonly string[] =>
  Object.keys(map.getStyle().sources)
    .filter(isOperators)
    .map((id) => map.getSource(id)?.attribution ?? '')
