import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { adoptStyles } from '../parts/browser/styles.ts'
import { tell } from '../parts/live.tsx'
import css from './chart.css' with { type: 'text' }
import { Drawing } from './draw/drawing.tsx'
import type { Layout, Size } from './draw/layout.ts'
import { layoutOf } from './draw/layout-of.ts'
import { screenPalette } from './draw/palette.ts'
import { shownValue } from './draw/values.ts'
import type { ChartData } from './read/chart-data.ts'
import { type Place, placeAfter, placeNear, placeTitle, type Spot, spotAt } from './spots.ts'

adoptStyles(css)

/** A chart that fills its parent: the picture, what it leaves out, and each value by pointer and keyboard. */
export function ChartFigure({ data }: Readonly<{ data: ChartData }>) {
  const holder = useRef<HTMLDivElement>(null)
  const size = useSize(holder)
  const id = useId()
  const layout = useMemo(() => size && layoutOf(data, size), [data, size?.width, size?.height])
  return (
    <div class="chart-figure">
      {data.notes.length > 0 && (
        <p class="small muted chart-note">
          {data.notes.map((note) => (
            <span key={note}>{note} </span>
          ))}
        </p>
      )}
      <div class="chart-holder" ref={holder}>
        {layout && <Canvas key={data.title} {...{ data, layout, id }} />}
      </div>
      <Values data={data} />
    </div>
  )
}

/** The size without the scroll bar of a tall chart. */
function useSize(holder: Readonly<{ current: HTMLDivElement | null }>): Size | undefined {
  const [size, setSize] = useState<Size | undefined>(undefined)
  useEffect(() => {
    const element = holder.current!
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element
      setSize((former) =>
        former?.width === width && former.height === height
          ? former
          : { width: Math.max(240, width), height: Math.max(200, height) },
      )
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])
  return size
}

type CanvasProps = Readonly<{ data: ChartData; layout: Layout; id: string }>

function Canvas({ data, layout, id }: CanvasProps) {
  const [place, setPlace] = useState<Place | undefined>(undefined)
  useEffect(() => setPlace(undefined), [data])
  const spot = place && placed(data, place) ? spotAt(data, layout, place) : undefined
  const drawing = useMemo(
    () => <Drawing data={data} layout={layout} palette={screenPalette} id={`chart${id}`} isInSteps />,
    [data, layout],
  )
  const follow = (event: PointerEvent) => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    setPlace(placeNear(data, layout, event.clientX - left, event.clientY - top))
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setPlace(undefined)
    const next = placeAfter(data, place, event.key)
    if (!next) return
    event.preventDefault()
    setPlace(next)
    tell(spokenOf(spotAt(data, layout, next)))
  }
  return (
    <div
      class="chart-canvas"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from value to value
      tabIndex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={`Chart of ${data.title}`}
      aria-describedby={`${id}-keys`}
      onPointerMove={follow}
      onPointerDown={follow}
      onPointerLeave={() => setPlace(undefined)}
      onBlur={() => setPlace(undefined)}
      onKeyDown={press}
    >
      <p id={`${id}-keys`} class="hidden-text">
        {data.kind} chart. Arrow keys go from value to value.
      </p>
      {drawing}
      {spot && <Tooltip spot={spot} width={layout.size.width} />}
    </div>
  )
}

/** Whether this data has the place: the data may have changed meanwhile. */
const placed = ({ series }: ChartData, place: Place) => place.at < (series[place.series]?.y.length ?? 0)

const spokenOf = ({ title, values }: Spot) =>
  `${title}: ${values.map(({ label, value }) => (values.length > 1 ? `${label} ${value}` : value)).join(', ')}`

function Tooltip({ spot: { x, y, box, title, values }, width }: Readonly<{ spot: Spot; width: number }>) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [y])
  const { left, top, right, bottom } = box
  const isLeft = x > width / 2
  return (
    <>
      <div
        class="chart-here"
        style={{ left: px(left), top: px(top), width: px(right - left), height: px(bottom - top) }}
      />
      <div
        ref={element}
        class="chart-tooltip"
        data-testid="tooltip"
        style={{ top: px(y), ...(isLeft ? { right: px(width - x + 10) } : { left: px(x + 10) }) }}
      >
        <strong>{title}</strong>
        {values.map(({ label, value }) => (
          <div key={label} class="row">
            <span class="grow">{label}</span>
            <span>{value}</span>
          </div>
        ))}
      </div>
    </>
  )
}

const px = (value: number) => `${value}px`

const mostListed = 60

/** The same values as a table for screen readers; beyond a limit the rows themselves have them. */
function Values({ data }: Readonly<{ data: ChartData }>) {
  const { series, x, xName, title, yName } = data
  const count = series[0]?.y.length ?? 0
  if (x.form === 'line' || count > mostListed) return null
  return (
    <div class="hidden-text">
      <table>
        <caption>Values of the chart of {title}</caption>
        <thead>
          <tr>
            <th scope="col">{xName}</th>
            {series.map(({ label }, at) => (
              <th key={at} scope="col">
                {series.length === 1 ? yName : label.text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: count }, (_, at) => (
            <tr key={at}>
              <th scope="row">{placeTitle(data, at)}</th>
              {series.map(({ y }, one) => (
                <td key={one}>{shownValue(y[at]!)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
