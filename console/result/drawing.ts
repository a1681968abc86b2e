/** Loads a map only if the browser has WebGL 2. Without it MapLibre throws, which would break the page. */
export async function ifMapsAreDrawn<T>(load: () => Promise<T>): Promise<T> {
  if (!document.createElement('canvas').getContext('webgl2')) throw new Error(cannotDraw)
  return load()
}

const cannotDraw = 'This browser cannot draw maps: WebGL 2 is off or not supported.'
