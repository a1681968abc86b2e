import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { UserConfig } from '../../config.ts'
import { printable, visible } from '../printable.ts'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

/** One of the two streams, looked at by itself. */
export type Face = Readonly<{
  isTerminal: boolean
  stream: NodeJS.WriteStream
  columns: number
  rows: number
  style: (style: Style, text: string) => string
  /** In a pipe every byte stays as it is. */
  write: (text: string) => void
}>

/** stdout is data, stderr is talk. */
export type Terminal = Readonly<{
  out: Face
  err: Face
  isQuiet: boolean
  showsProgress: boolean
  canAsk: boolean
  pager: string
  /** A line of talk, which --quiet leaves out. */
  say: (text: string, style?: Style) => void
}>

export function openTerminal(values: Readonly<Record<string, unknown>>, config: UserConfig): Terminal {
  const isPlain = config.isPlain || values['no-color'] === true
  const out = faceOf(process.stdout, isPlain)
  const err = faceOf(process.stderr, isPlain)
  const isQuiet = values.quiet === true
  return {
    out,
    err,
    isQuiet,
    showsProgress: !isQuiet && values['no-progress'] !== true,
    canAsk: process.stdin.isTTY === true && err.isTerminal,
    pager: config.pager,
    say: (text, style) => {
      if (!isQuiet) tell(text, style && ((plain) => err.style(style, plain)))
    },
  }
}

function faceOf(stream: WriteStream, isPlain: boolean): Face {
  const isTerminal = stream.isTTY === true
  return {
    isTerminal,
    stream,
    // A window may become larger while one looks.
    get columns() {
      return stream.columns || 80
    },
    get rows() {
      return stream.rows || 24
    },
    style: (style, text) => (isTerminal && !isPlain ? styleText(style, text) : text),
    write: (text) => void stream.write(isTerminal ? visible(text) : text),
  }
}

/** All that is said on stderr goes here, but for what is drawn anew there. */
export function tell(text: string, style: (text: string) => string = (plain) => plain): void {
  process.stderr.write(`${style(printable(text))}\n`)
}
