import type { Tick } from './ticks.ts'

export type PlotBox = Readonly<{ left: number; top: number; right: number; bottom: number }>
export type Size = Readonly<{ width: number; height: number }>
export type ChartKey = Readonly<{ x: number; y: number; text: string; isSaid: boolean; series: number }>

/** Where everything is drawn, in pixels. */
export type Layout = Readonly<{
  size: Size
  plot: PlotBox
  /** `rows`: horizontal bars, with their names left of them. */
  form: 'columns' | 'rows' | 'pie'
  legend: readonly ChartKey[]
  /** The pixel of a value, of a place on the other axis, and the width of a band there. */
  valueAt: (y: number) => number
  placeAt: (x: number) => number
  band: number
  valueTicks: readonly Tick[]
  placeTicks: readonly Tick[]
}>
