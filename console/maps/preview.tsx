import { useMemo, useState } from 'preact/hooks'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { ShownMap } from '../result/shown-map/shown-map.tsx'
import type { MapBox, MapDraft } from './map-draft.ts'
import { draftStyle, withKey } from './named-maps.ts'

type PreviewProps = Readonly<{ draft: MapDraft; moved: (box: MapBox) => void }>

/** The current map, before it is saved. */
export function Preview({ draft, moved }: PreviewProps) {
  const settled = useSettled(draft, 300)
  const [error, setError] = useState<unknown>(undefined)
  // Moving the map changes only the initial view, not what is drawn.
  const drawn = JSON.stringify({ ...settled, bounds: undefined, name: '', token: '' })
  const style = useMemo(
    () => async () => {
      setError(undefined)
      return draftStyle(settled).catch((failed: unknown) => {
        setError(failed)
        throw failed
      })
    },
    [drawn],
  )
  if (settled.layers.length === 0) {
    return (
      <section class="map-editor-map" aria-label="Preview">
        <Empty>Add a layer to see the map.</Empty>
      </section>
    )
  }
  return (
    <section class="map-editor-map" aria-label="Preview">
      {error !== undefined && <ErrorNotice error={error} />}
      <ShownMap style={style} transformRequest={withKey} moved={moved} />
    </section>
  )
}
