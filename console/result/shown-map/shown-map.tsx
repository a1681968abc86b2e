import type { RequestTransformFunction } from 'maplibre-gl'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { MapPageMetadata, StyleDocument } from '../../../src/contract/documents.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { shownTheme } from '../../parts/browser/theme.ts'
import { creditNodes } from '../ground/credits.ts'
import { MapLegend } from './map-legend.tsx'
import { type OpenedMap, openShownMap } from './open-shown-map.ts'
import css from './shown-map.css' with { type: 'text' }

adoptStyles(css)

type ShownMapProps = Readonly<{
  style: (theme: 'light' | 'dark') => Promise<StyleDocument>
  /** Adds a key to the requests for tiles. */
  transformRequest?: RequestTransformFunction
  /** Called with the visible box after each move of the user. */
  moved?: (box: readonly [number, number, number, number]) => void
}>

/** A map as people see it: with title, legend, popups, scale and attribution. */
export function ShownMap({ style, transformRequest, moved }: ShownMapProps) {
  const holder = useRef<HTMLDivElement>(null)
  const [about, setAbout] = useState<MapPageMetadata | undefined>(undefined)
  const [layerCredits, setLayerCredits] = useState<readonly string[]>([])
  const [groundCredits, setGroundCredits] = useState<readonly string[]>([])
  const [problem, setProblem] = useState('')
  const [isLoading, setLoading] = useState(true)
  const latest = useRef({ style, moved })
  latest.current = { style, moved }
  const opened = useRef<OpenedMap | undefined>(undefined)
  useEffect(() => {
    const map = openShownMap(holder.current!, (theme) => latest.current.style(theme), transformRequest, {
      styled: (document) => {
        setAbout(document.metadata.cartage as MapPageMetadata)
        setLayerCredits(attributionsOf(document))
      },
      credited: setGroundCredits,
      failed: setProblem,
      loading: setLoading,
      moved: (box) => latest.current.moved?.(box),
    })
    opened.current = map
    const unfollow = shownTheme.subscribe((theme) => map.show(theme))
    return () => {
      unfollow()
      map.close()
    }
  }, [])
  const drawn = useRef(style)
  useEffect(() => {
    if (drawn.current !== style) opened.current?.show(shownTheme.peek())
    drawn.current = style
  }, [style])
  return (
    <div class="shown-map">
      <div class="map" ref={holder} />
      <div class="map-middle" />
      {about && <AboutMap about={about} />}
      <div class="map-edge" role="status">
        {problem || (isLoading ? 'Loading…' : '')}
      </div>
      <Credits of={[...groundCredits, ...layerCredits]} />
    </div>
  )
}

/** On a narrow screen it is closed, so that the map is visible. */
function AboutMap({ about: { title, description, legend } }: Readonly<{ about: MapPageMetadata }>) {
  const items = legend.reduce((sum, section) => sum + section.items.length, 0)
  if (description === '' && items === 0) return <h1 class="map-about map-about-title">{title}</h1>
  return (
    <details class="map-about" open={innerWidth >= 600}>
      <summary>
        <h1>{title}</h1>
      </summary>
      {description !== '' && <p>{description}</p>}
      <MapLegend legend={legend} />
    </details>
  )
}

function Credits({ of }: Readonly<{ of: readonly string[] }>) {
  const line = useRef<HTMLDivElement>(null)
  useEffect(() => line.current!.replaceChildren(...creditNodes(of)), [JSON.stringify(of)])
  return <div class="map-attribution" ref={line} />
}

/** The attributions of the sources, as HTML. Those of the countries are added when they are drawn. */
function attributionsOf({ sources, metadata }: StyleDocument): readonly string[] {
  const { basemap } = metadata.cartage as MapPageMetadata
  return Object.entries(sources)
    .filter(([id]) => basemap !== 'world' || !id.startsWith('basemap:'))
    .map(([, source]) => (source as { attribution?: string }).attribution ?? '')
}
