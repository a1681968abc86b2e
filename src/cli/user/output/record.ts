import { printable } from '../../printable.ts'
import type { OutputStream } from '../../terminal.ts'
import { type Cells, oneLine, widthOf } from './cell.ts'

/** One row as lines of `name │ value`. A value keeps its line ends. */
export function recordText(
  { names, cells }: Cells,
  number: number | undefined,
  style: OutputStream['style'],
): string {
  const shown = names.map(oneLine)
  const width = Math.max(0, ...shown.map(widthOf))
  const head =
    number === undefined ? '' : `─ ${number} ${'─'.repeat(Math.max(3, width - String(number).length))}\n`
  const lines = cells.map(({ text, isNull }, place) => {
    const name = shown[place]! + ' '.repeat(width - widthOf(shown[place]!))
    const value = printable(text)
      .split('\n')
      .join(`\n${' '.repeat(width)} │ `)
    return `${name} │ ${isNull ? style('dim', value) : value}\n`
  })
  return head + lines.join('')
}
