/** The console's font; other programs have one of these, or the last. */
export const chartFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
export const textSize = 12

let canvas: CanvasRenderingContext2D | undefined

/** The width of a text in pixels. */
export function widthOf(text: string): number {
  if (!canvas) {
    canvas = document.createElement('canvas').getContext('2d')!
    canvas.font = `${textSize}px ${chartFont}`
  }
  return canvas.measureText(text).width
}

/** The text, or its beginning with `…` if it is wider. Never cuts a character. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const letters = [...text]
  let [low, high] = [0, letters.length]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (widthOf(`${letters.slice(0, middle).join('')}…`) <= width) low = middle
    else high = middle - 1
  }
  return `${letters.slice(0, low).join('').trimEnd()}…`
}

export const widest = (texts: readonly string[]) =>
  texts.reduce((most, text) => Math.max(most, widthOf(text)), 0)
