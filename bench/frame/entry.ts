import type { ResourceUse, Watched } from './resource-use.ts'

/** One benchmark: a baseline and ours, measured in turns in one run, so that what else the machine does hits both. */
export type Entry = Readonly<{
  name: string
  title: string
  baseline: string
  /** What one measurement is: times and sizes are better when smaller, rates when larger. */
  unit: 's' | 'ms' | '1/s' | 'MB'
  /** What the ratio ours / baseline should be, in words. */
  aim: string
  pairs: number
  prepare: () => Promise<Measured>
}>

export type Measured = Readonly<{
  baseline: () => Promise<number>
  ours: () => Promise<number>
  /** Further figures of the run, such as CPU seconds and peak memory. */
  notes?: () => Promise<string> | string
  /** The resource that is the limit, in words, where the processes that are watched cannot tell. */
  limit?: string
  /** Whose CPU time is told from the client's while ours runs. */
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
  /** What ours has used; older results have none. */
  use?: ResourceUse
  limit?: string
  command: string
  date: string
  machine: string
}>
