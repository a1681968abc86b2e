import type { ChartData, ChartX } from '../read/chart-data.ts'
import { placeText } from '../read/labels.ts'
import { cutTo, widest, widthOf } from './text.ts'
import { numberScale, type Tick, tickText, timeLabels, timeTicks, unitOf } from './ticks.ts'

const widestName = 110

/** Labels below an axis, as many as fit. `at` is passed to `placeAt`. */
export function labelTicks(
  { x }: ChartData,
  width: number,
  placeAt: (x: number) => number,
  [low, high]: readonly [number, number],
): readonly Tick[] {
  if (x.form === 'names')
    return named(
      x.labels.map(({ text }) => text),
      width,
    )
  if (x.form === 'ranges') return edges(x, width)
  if (x.type === 'time') return apart(timeTicks(low, high, Math.max(1, Math.floor(width / 76))), placeAt)
  const { ticks } = numberScale(low, high, Math.max(1, Math.floor(width / 90)))
  const step = ticks.length > 1 ? ticks[1]!.at - ticks[0]!.at : 1
  return ticks
    .filter(({ at }) => at >= low && at <= high)
    .map(({ at }) => ({ at, lines: [placeTick(at, step)] }))
}

const placeTick = (at: number, step: number) => (Math.abs(at) < 10_000 ? placeText(at) : tickText(at, step))

function named(names: readonly string[], width: number): readonly Tick[] {
  const band = width / Math.max(1, names.length)
  const cut = names.map((name) => cutTo(name, Math.max(band - 8, Math.min(widestName, width / 3))))
  const step = Math.max(1, Math.ceil((widest(cut) + 10) / band))
  return cut.flatMap((text, at) => (at % step === 0 ? [{ at, lines: [text] }] : []))
}

/** A range has its labels at its edges, half a band beside its middle. */
function edges(x: Extract<ChartX, { form: 'ranges' }>, width: number): readonly Tick[] {
  const band = width / (x.edges.length - 1)
  const places = [...x.edges.keys()]
  if (x.type === 'number') {
    const texts = Array.from(x.edges, (edge) => placeTick(edge, Math.abs(x.edges[1]! - x.edges[0]!)))
    const step = Math.max(1, Math.ceil((widest(texts) + 12) / band))
    return places.filter((at) => at % step === 0).map((at) => ({ at: at - 0.5, lines: [texts[at]!] }))
  }
  const step = Math.max(1, Math.ceil(76 / band))
  const kept = places.filter((at) => at % step === 0 && at < x.edges.length - 1)
  const labels = timeLabels(
    kept.map((at) => x.edges[at]!),
    unitOf(x.edges),
  )
  // The name of a day is below its bar, a time at its start.
  return labels.map(({ lines }, index) => ({
    at: kept[index]! - (unitOf(x.edges) === 'minute' ? 0.5 : 0),
    lines,
  }))
}

/** Leaves out labels that would touch the one before. */
function apart(ticks: readonly Tick[], placeAt: (x: number) => number): readonly Tick[] {
  let free = Number.NEGATIVE_INFINITY
  return ticks.filter(({ at, lines }) => {
    const half = Math.max(...lines.map(widthOf)) / 2
    if (placeAt(at) - half < free) return false
    free = placeAt(at) + half + 8
    return true
  })
}
