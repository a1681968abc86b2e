import type { Page } from 'playwright-core'

type TestMap = Readonly<{
  queryRenderedFeatures: (options: {
    layers: string[]
  }) => { id: number; properties: Record<string, unknown> }[]
  loaded: () => boolean
  jumpTo: (view: { center: [number, number]; zoom: number }) => void
  project: (lonLat: [number, number]) => { x: number; y: number }
  once: (event: 'render', listen: () => void) => void
  triggerRepaint: () => void
  getCanvas: () => HTMLCanvasElement
}>

/** What MapLibre itself knows of the map on the page. */
export function onMap<T>(page: Page, read: (map: TestMap) => T): Promise<T> {
  return page
    .locator('.map')
    .evaluate(
      (element, text) =>
        Function('map', `return (${text})(map)`)((element as unknown as { map: TestMap }).map),
      String(read),
    ) as Promise<T>
}

/** Read in the moment in which it is drawn: afterwards the buffer is empty. */
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
