import { AppError } from '../errors.ts'

/** As in `errors_with_context`. */
export type LayerLabel = Readonly<{ id: string; index: number; type: string }>

/** The error of a layer, with the layer that it is about. */
export function inLayer(thrown: unknown, { id, index, type }: LayerLabel): unknown {
  if (!(thrown instanceof AppError)) return thrown
  const { code, kind, message, extras } = thrown
  return new AppError(code, kind, message, { ...extras, body: { layer: { id, index, type } } })
}

export const tableLayer = (id: string, index: number): LayerLabel => ({ id, index, type: 'table' })
