import { adoptStyles } from '../parts/browser/styles.ts'
import { ExistingMap, NewMap } from './map-editor.tsx'
import { MapList } from './map-list.tsx'
import css from './maps.css' with { type: 'text' }

adoptStyles(css)

/** `/maps`, `/maps/new`, `/maps/new/{schema}/{table}` and `/maps/map/{name}`. */
export default function MapsPage({
  segments: [what, one, other],
}: Readonly<{ segments: readonly string[] }>) {
  if (what === 'new') {
    const table = one !== undefined && other !== undefined ? { schema: one, name: other } : undefined
    return <NewMap key="new" table={table} />
  }
  if (what === 'map' && one !== undefined) return <ExistingMap key={one} name={one} />
  return <MapList />
}
