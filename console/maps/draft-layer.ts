import type { Method } from './breaks.ts'
import type { RampName } from './ramps.ts'

export type Kind = 'point' | 'line' | 'area'

export type ColourBy =
  | Readonly<{ by: 'one'; colour: string }>
  | Readonly<{
      by: 'numbers'
      column: string
      method: Method
      count: number
      ramp: RampName
      breaks: readonly number[]
    }>
  | Readonly<{ by: 'categories'; column: string; values: readonly string[] }>

/** A layer of a map in the editor. Everything but `columns` is in the template. */
export type DraftLayer = Readonly<{
  id: string
  title: string
  sql: string
  geomColumn: string
  srid: number
  kind: Kind
  colour: ColourBy
  size: number
  opacity: number
  /** Empty for none. */
  label: string
  minzoom: number
  maxzoom: number
  popup: readonly string[]
}>

/** The choices of the editor, in the `metadata` of a layer of the style. */
export type LayerChoices = Omit<DraftLayer, 'id' | 'sql' | 'geomColumn' | 'srid' | 'popup'>
