import type { Page } from 'playwright-core'

type Feature = Readonly<{ id: number; properties: Record<string, unknown> }>

type TestMap = Readonly<{
  getLayer: (name: string) => unknown
  queryRenderedFeatures: (options: { layers: string[] }) => Feature[]
  loaded: () => boolean
  jumpTo: (view: { center: [number, number]; zoom: number }) => void
  project: (lonLat: [number, number]) => { x: number; y: number }
  once: (event: 'render', listen: () => void) => void
  triggerRepaint: () => void
  getCanvas: () => HTMLCanvasElement
}>

/** Reads from MapLibre about the map on the page. */
export function onMap<T>(page: Page, read: (map: TestMap) => T): Promise<T> {
  return page
    .locator('.map')
    .evaluate(
      (element, text) =>
        Function('map', `return (${text})(map)`)((element as unknown as { map: TestMap }).map),
      String(read),
    ) as Promise<T>
}

/** The drawn features of a layer; empty while the style is loading. */
export function drawnOf(page: Page, layer: string): Promise<Feature[]> {
  return page.locator('.map').evaluate((element, name) => {
    const { map } = element as unknown as { map: TestMap }
    if (!map.getLayer(name)) return []
    return map.queryRenderedFeatures({ layers: [name] }).map(({ id, properties }) => ({ id, properties }))
  }, layer)
}

/** Read during rendering: afterwards the buffer is empty. */
export function colourAt(page: Page, lon: number, lat: number): Promise<number[]> {
  return page.locator('.map').evaluate(
    (element, [x, y]) =>
      new Promise<number[]>((resolve) => {
        const { map } = element as unknown as { map: TestMap }
        map.once('render', () => {
          const canvas = map.getCanvas()
          const context = canvas.getContext('webgl2')!
          const place = map.project([x!, y!])
          const scale = canvas.width / canvas.clientWidth
          const pixel = new Uint8Array(4)
          const [left, bottom] = [place.x * scale, canvas.height - place.y * scale]
          context.readPixels(left, bottom, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixel)
          resolve([...pixel])
        })
        map.triggerRepaint()
      }),
    [lon, lat],
  )
}
