import type { Palette } from './palette.ts'

/** Fillings that differ not only by colour. The first one is plain. */
const drawings: readonly string[] = [
  '',
  'M-2 2l4-4M0 8l8-8M6 10l4-4',
  'M1 2h2M5 6h2',
  'M-2 6l4 4M0 0l8 8M6-2l4 4',
  'M0 4h8',
  'M4 0v8',
  'M0 4h8M4 0v8',
  'M1 1h1M5 1h1M3 5h1M7 5h1',
]

export type Fill = (series: number) => string

/** Names of fillings in a document that may have several charts. */
export const fillOf =
  (id: string): Fill =>
  (series) =>
    `url(#${id}-${series % drawings.length})`

export function Patterns({ id, palette, count }: Readonly<{ id: string; palette: Palette; count: number }>) {
  return (
    <defs>
      {drawings.slice(0, count).map((drawing, at) => (
        <pattern key={at} id={`${id}-${at}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect width="8" height="8" fill={palette.series[at]} />
          {drawing !== '' && <path d={drawing} stroke={palette.ground} stroke-width="1.5" fill="none" />}
        </pattern>
      ))}
    </defs>
  )
}
