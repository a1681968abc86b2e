import './map-page.css'
import { render } from 'preact'
import type { StyleDocument } from '../../src/contract/documents.ts'
import { showTheme } from '../parts/browser/theme.ts'
import { guardSinks } from '../parts/browser/trusted-types.ts'
import { ShownMap } from '../result/shown-map/shown-map.tsx'

/** The page of a named map: its style is at the same address with `.json`. */
async function readStyle(theme: 'light' | 'dark'): Promise<StyleDocument> {
  const address = new URL(`${location.pathname.replace(/\/$/, '')}.json${location.search}`, location.href)
  address.searchParams.set('theme', theme)
  const answer = await fetch(address)
  if (!answer.ok) throw new Error(`The map answers ${answer.status}`)
  return withOwnAddresses((await answer.json()) as StyleDocument)
}

/**
 * The style has the public address of the service. This page may be open at another one, behind a proxy or on the
 * machine itself, and its policy allows only its own.
 */
function withOwnAddresses(style: StyleDocument): StyleDocument {
  const base = location.origin + location.pathname.replace(/\/(user|u)\/[^/]+\/map\/[^/]+\/?$/, '')
  const owned = (address: string) => address.replace(ownAddress, (_, path: string) => base + path)
  const ownedSource = ({ type, tiles, data, ...source }: Source) => ({
    type,
    ...source,
    ...(tiles && { tiles: type === 'vector' ? tiles.map(owned) : tiles }),
    ...(data && { data: owned(data) }),
  })
  const sources = Object.entries(style.sources as Record<string, Source>)
  return { ...style, sources: Object.fromEntries(sources.map(([id, source]) => [id, ownedSource(source)])) }
}

/** The tiles of a raster source come from another service. */
type Source = Readonly<{ type: string; tiles?: readonly string[]; data?: string }>
const ownAddress = /^https?:.*(\/user\/[^/]+\/api\/v1\/map\/named\/|\/console\/assets\/)/

guardSinks()
showTheme()
const app = document.getElementById('map')
if (app) render(<ShownMap style={readStyle} />, app)
