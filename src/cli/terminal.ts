import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { printable, visible } from './printable.ts'

export type TextStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

/** stdout or stderr. Each is checked for a terminal separately. */
export type OutputStream = Readonly<{
  isTerminal: boolean
  stream: NodeJS.WriteStream
  columns: number
  rows: number
  style: (style: TextStyle, text: string) => string
  /** Escapes control characters on a terminal; in a pipe or file every byte stays as it is. */
  write: (text: string) => void
}>

/** Data goes to stdout, messages go to stderr. */
export type Terminal = Readonly<{
  out: OutputStream
  err: OutputStream
  isQuiet: boolean
  showsProgress: boolean
  canAsk: boolean
  pager: string
  /** Writes a message, unless --quiet is given. */
  say: (text: string, style?: TextStyle) => void
}>

export type TerminalSettings = Readonly<{ isPlain: boolean; pager: string }>

export function openTerminal(
  values: Readonly<Record<string, unknown>>,
  settings: TerminalSettings,
): Terminal {
  const isPlain = settings.isPlain || values['no-color'] === true
  const out = outputStream(process.stdout, isPlain)
  const err = outputStream(process.stderr, isPlain)
  const isQuiet = values.quiet === true
  return {
    out,
    err,
    isQuiet,
    showsProgress: !isQuiet && values['no-progress'] !== true,
    canAsk: process.stdin.isTTY === true && err.isTerminal,
    pager: settings.pager,
    say: (text, style) => {
      if (!isQuiet) tell(text, style && ((plain) => err.style(style, plain)))
    },
  }
}

function outputStream(stream: WriteStream, isPlain: boolean): OutputStream {
  const isTerminal = stream.isTTY === true
  return {
    isTerminal,
    stream,
    // Read each time: the window may be resized.
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

/** Writes a message to stderr, also with --quiet. A line of progress makes room for it. */
export function tell(text: string, style: (text: string) => string = (plain) => plain): void {
  clearProgressLine()
  process.stderr.write(`${style(printable(text))}\n`)
}

let hasProgressLine = false

export function drawProgressLine(text: string): void {
  hasProgressLine = true
  process.stderr.write(`\r\x1b[K${printable(text)}`)
}

export function clearProgressLine(): void {
  if (hasProgressLine) process.stderr.write('\r\x1b[K')
  hasProgressLine = false
}
