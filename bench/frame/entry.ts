import type { ResourceUse, Watched } from './resource-use.ts'

/** One benchmark: a baseline and ours, measured in turns in one run, so that other load of the machine affects both. */
export type Entry = Readonly<{
  name: string
  title: string
  baseline: string
  /** The unit of a measurement: times and sizes are better when smaller, rates when larger. */
  unit: 's' | 'ms' | '1/s' | 'MB'
  /** The wanted ratio ours / baseline, in words. */
  aim: string
  pairs: number
  /** Each pair is measured in so many short slices in turns, so that what else the machine does hits both. By default one. */
  slices?: number
  prepare: () => Promise<Measured>
}>

export type Measured = Readonly<{
  baseline: () => Promise<number>
  ours: () => Promise<number>
  /** Further figures of the run, such as CPU seconds and peak memory. */
  notes?: () => Promise<string> | string
  /** The limiting resource, in words, if the watched processes cannot show it. */
  limit?: string
  /** The processes whose CPU time is separated from the client's while ours runs. */
  watched?: () => Watched
  tearDown: () => Promise<void>
}>

export type Result = Readonly<{
  name: string
  title: string
  baseline: string
  unit: Entry['unit']
  aim: string
  pairs: number
  baselineMedian: number
  oursMedian: number
  ratio: number
  ratioMin: number
  ratioMax: number
  notes: string
  /** The resources ours used; older results have none. */
  use?: ResourceUse
  limit?: string
  command: string
  date: string
  machine: string
}>
