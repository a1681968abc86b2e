/** MapLibre throws in a browser without WebGL 2, which would take the whole page down: then it is not even loaded. */
export async function ifMapsAreDrawn<T>(load: () => Promise<T>): Promise<T> {
  if (!document.createElement('canvas').getContext('webgl2')) throw new Error(cannotDraw)
  return load()
}

const cannotDraw =
  'This browser cannot draw maps: WebGL 2 is switched off in it, or the graphics of this computer have no driver for it.'
