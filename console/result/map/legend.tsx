type LegendProps = Readonly<{
  /** Also shown above the entries, if it says more than "Legend". */
  label: string
  entries: readonly LegendEntry[]
}>

export type LegendEntry = Readonly<{ colour: string; text: string; isOutlined?: boolean }>

/** What the colours of a map mean. */
export function Legend({ label, entries }: LegendProps) {
  return (
    <div class="legend">
      {label !== 'Legend' && <div class="muted">{label}</div>}
      <ul aria-label={label}>
        {entries.map(({ colour, text, isOutlined }) => (
          <li key={text}>
            <span class={`swatch ${isOutlined ? 'outlined' : ''}`} style={{ background: colour }} /> {text}
          </li>
        ))}
      </ul>
    </div>
  )
}
