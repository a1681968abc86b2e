import type { MapLegendSection } from '../../../src/contract/documents.ts'

/** The meaning of a map's colours, by section. */
export function MapLegend({ legend }: Readonly<{ legend: readonly MapLegendSection[] }>) {
  return (
    <>
      {legend.map(({ title, items }, at) => (
        <section class="map-legend" key={`${at} ${title}`}>
          {title && <h2>{title}</h2>}
          <ul aria-label={title || 'Legend'}>
            {items.map(({ label, color, shape = 'point' }) => (
              <li key={label}>
                <span class={`map-swatch ${shape}`} style={{ background: color }} />
                <span>{label}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}
