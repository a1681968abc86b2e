import { LngLatBounds, Map as MapLibre, NavigationControl, type StyleSpecification } from 'maplibre-gl'
import type { Box } from '../../geo/rows-sql.ts'
import { shownTheme } from '../../parts/browser/theme.ts'
import { creditNodes } from '../ground/credits.ts'
import { Ground, withoutGround } from '../ground/ground.ts'
import { whenStyled } from './maplibre-setup.ts'

type MapHolder = HTMLElement & { map?: MapLibre }

type MapEvents = Readonly<{
  /** After a change of theme, which resets filters. */
  restyled?: () => void
  loading?: (isLoading: boolean) => void
  /** Called for a click, or Enter at the middle of the map. `reach`: how far around it to search, in pixels. */
  ask?: (place: AskedPoint) => void
}>

export type AskedPoint = Readonly<{ x: number; y: number; reach: number; isByKeyboard: boolean }>

/** Opens a map in an element and follows the theme. */
export function openMap(
  holder: MapHolder,
  style: () => StyleSpecification,
  bounds: Box,
  { restyled = () => undefined, loading, ask }: MapEvents = {},
): Readonly<{ map: MapLibre; close: () => void }> {
  const first = style()
  const map = new MapLibre({
    container: holder,
    style: withoutGround(first),
    bounds: LngLatBounds.convert(bounds as never),
    fitBoundsOptions: { padding: 40, maxZoom: 12 },
    attributionControl: false,
    dragRotate: false,
    maxPitch: 0,
    locale: { 'Map.Title': ask ? `${howToMove} Enter lists the rows in the middle.` : howToMove },
  })
  map.addControl(new NavigationControl({ showCompass: false }))
  holder.map = map
  map.on('dataloading', () => loading?.(true))
  map.on('idle', () => loading?.(false))
  if (ask) listenFor(map, ask)
  let drawn = shownTheme.peek()
  const credits = document.createElement('div')
  credits.className = 'map-credit'
  holder.append(credits)
  const ground = new Ground(map, (names) => credits.replaceChildren(...creditNodes(names)))
  ground.show(first, shownTheme.peek())
  const unfollow = shownTheme.subscribe((theme) => {
    if (theme === drawn) return
    drawn = theme
    whenStyled(map, () => {
      ground.replace(style(), drawn)
      whenStyled(map, restyled)
    })
  })
  return {
    map,
    close: () => {
      unfollow()
      ground.hide()
      map.remove()
      holder.replaceChildren()
    },
  }
}

const howToMove = 'Map. Arrow keys move it, + and − zoom.'

function listenFor(map: MapLibre, ask: (place: AskedPoint) => void): void {
  map.on('click', ({ point: { x, y } }) => ask({ x, y, reach: reachOfClick, isByKeyboard: false }))
  map.getCanvas().addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    const { clientWidth, clientHeight } = map.getCanvas()
    ask({ x: clientWidth / 2, y: clientHeight / 2, reach: reachOfKeyboard, isByKeyboard: true })
  })
}

const reachOfClick = 4
/** Half of the square shown while the map has the focus: see `.map-middle`. */
const reachOfKeyboard = 20
