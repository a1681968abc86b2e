import './map-page.css'
import { render } from 'preact'
import type { StyleDocument } from '../../src/contract/documents.ts'
import { guardSinks } from '../parts/browser/trusted-types.ts'
import { ShownMap } from '../result/shown-map/shown-map.tsx'

/** The page of a named map: its style is at the same address with `.json`. */
async function readStyle(theme: 'light' | 'dark'): Promise<StyleDocument> {
  const address = new URL(`${location.pathname.replace(/\/$/, '')}.json${location.search}`, location.href)
  address.searchParams.set('theme', theme)
  const answer = await fetch(address)
  if (!answer.ok) throw new Error(`The map answers ${answer.status}`)
  return (await answer.json()) as StyleDocument
}

guardSinks()
const app = document.getElementById('map')
if (app) render(<ShownMap style={readStyle} />, app)
