export type CellPosition = Readonly<{ row: number; column: number }>
export type CellRange = Readonly<{ top: number; bottom: number; left: number; right: number }>
export type GridSize = Readonly<{
  rows: number
  columns: number
  pageRows: number
  hidden: ReadonlySet<number>
}>

/** A rectangle of cells: from its first cell to the focused one. */
export type CellSelection = Readonly<{ anchor: CellPosition; focus: CellPosition }>

export const rangeOf = ({ anchor, focus }: CellSelection): CellRange => ({
  top: Math.min(anchor.row, focus.row),
  bottom: Math.max(anchor.row, focus.row),
  left: Math.min(anchor.column, focus.column),
  right: Math.max(anchor.column, focus.column),
})

export const isWithin = ({ top, bottom, left, right }: CellRange, row: number, column: number) =>
  row >= top && row <= bottom && column >= left && column <= right

export const countCells = ({ top, bottom, left, right }: CellRange) => (bottom - top + 1) * (right - left + 1)

type Pressed = Readonly<{ key: string; shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }>

/** The selection after a key; undefined if the key does not move it. */
export function moveSelection(
  selection: CellSelection,
  pressed: Pressed,
  size: GridSize,
): CellSelection | undefined {
  const { key, shiftKey } = pressed
  const isFar = pressed.ctrlKey || pressed.metaKey
  const last = { row: size.rows - 1, column: size.columns - 1 }
  if (isFar && key.toLowerCase() === 'a') return { anchor: { row: 0, column: 0 }, focus: last }
  const { row, column } = selection.focus
  const moves: Record<string, CellPosition> = {
    ArrowDown: { row: isFar ? last.row : row + 1, column },
    ArrowUp: { row: isFar ? 0 : row - 1, column },
    ArrowRight: { row, column: isFar ? last.column : column + 1 },
    ArrowLeft: { row, column: isFar ? 0 : column - 1 },
    PageDown: { row: row + size.pageRows, column },
    PageUp: { row: row - size.pageRows, column },
    Home: { row: isFar ? 0 : row, column: 0 },
    End: { row: isFar ? last.row : row, column: last.column },
  }
  const moved = moves[key]
  if (!moved) return undefined
  const to = clamp(moved.column, last.column)
  const focus = { row: clamp(moved.row, last.row), column: nearestShown(to, moved.column < column, size) }
  return { anchor: shiftKey ? selection.anchor : focus, focus }
}

const clamp = (value: number, last: number) => Math.max(0, Math.min(value, last))

/** The column itself, or the next visible one in the direction of the move, or the last one before it. */
function nearestShown(column: number, isToLeft: boolean, { columns, hidden }: GridSize): number {
  const right = Array.from({ length: columns - column }, (_, at) => column + at)
  const left = Array.from({ length: column }, (_, at) => column - at - 1)
  const isShown = (each: number) => !hidden.has(each)
  if (isShown(column)) return column
  return (isToLeft ? [...left, ...right] : [...right, ...left]).find(isShown) ?? column
}
