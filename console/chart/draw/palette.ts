import { colourOf } from '../../parts/browser/theme.ts'

/**
 * The colours of a drawing. On the screen they follow the theme; in a saved picture they are values, light on white.
 */
export type Palette = Readonly<{
  text: string
  muted: string
  line: string
  ground: string
  series: readonly string[]
}>

const seriesTokens = Array.from({ length: 8 }, (_, at) => `chart-${at + 1}`)

export const screenPalette: Palette = {
  text: 'var(--text)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  ground: 'var(--surface)',
  series: seriesTokens.map((token) => `var(--${token})`),
}

export function lightPalette(): Palette {
  const light = (token: string) => colourOf(token, 'light')
  return {
    text: light('text'),
    muted: light('muted'),
    line: light('line'),
    ground: '#ffffff',
    series: seriesTokens.map(light),
  }
}

/** Dashes of lines, so that they differ not only by colour. The first line is solid. */
export const dashes = ['', '7 4', '2 3', '9 3 2 3', '14 4', '4 2', '10 3 2 3 2 3', '1 4'] as const
